package client

import (
	"context"
	"encoding/binary"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// ticks is how often the watchdog looks within the time that a server may be
// silent.
const ticks = 8

// tick looks whether anything came since the last time. A connection on which
// something is owed and nothing comes is asked for a sign of life, and ends
// where there is none.
func (c *conn) tick() {
	received := c.received.Swap(0)
	c.mu.Lock()
	if c.dead != nil {
		c.mu.Unlock()
		return
	}
	if received > 0 || len(c.streams) == 0 && len(c.pings) == 0 {
		c.quiet = 0
	} else {
		c.quiet++
	}
	every := c.patience.silence / ticks
	silent := c.quiet >= ticks+int((c.patience.pong+every-1)/every)
	if c.quiet == ticks {
		c.ping()
	}
	c.ticker.Reset(every)
	c.mu.Unlock()
	c.wakeWriter()
	if silent {
		c.fail(fault.New("client.tick", fault.Unavailable, "", nil).WithHint("The server has gone silent."))
	}
}

// ping queues a PING with a number of its own. The caller holds the lock.
func (c *conn) ping() uint64 {
	c.pinged++
	var echo [8]byte
	binary.BigEndian.PutUint64(echo[:], c.pinged)
	c.outbox.ping(wire.TypePing, echo)
	return c.pinged
}

// takePing answers a PING.
func (c *conn) takePing(echo [8]byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pongs++; c.pongs > mostPongs {
		return violation("The server asks for signs of life and does not take them.")
	}
	c.outbox.ping(wire.TypePong, echo)
	c.wakeWriter()
	return nil
}

func (c *conn) takePong(number uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if came := c.pings[number]; came != nil {
		close(came)
		delete(c.pings, number)
	}
}

// roundTrip sends a PING and waits for its PONG.
func (c *conn) roundTrip(ctx context.Context) error {
	came := make(chan struct{})
	c.mu.Lock()
	number := c.ping()
	c.pings[number] = came
	c.mu.Unlock()
	c.flush()
	defer func() {
		c.mu.Lock()
		delete(c.pings, number)
		c.mu.Unlock()
	}()
	select {
	case <-came:
		return nil
	case <-c.gone:
		return broken("client.Ping", "", c.failure())
	case <-ctx.Done():
		return canceled("client.Ping", "", context.Cause(ctx))
	}
}

// Ping asks the server for a sign of life and tells how long it took. It says
// nothing about the store; Info does.
func (c *Client) Ping(ctx context.Context) (time.Duration, error) {
	var tries attempts
	for {
		on, err := c.pool.take(ctx, tries.after)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		err = on.roundTrip(ctx)
		c.pool.release(on)
		if err == nil || fault.CodeOf(err) == fault.Canceled || !tries.again(lostUnanswered, true, c.pool) {
			return time.Since(began), err
		}
	}
}
