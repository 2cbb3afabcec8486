package client

import (
	"context"
	"time"
)

// NewImpatient is New with other limits on the server's silence.
func NewImpatient(cfg Config, silence, pong time.Duration) (*Client, error) {
	c, err := New(cfg)
	if err == nil {
		c.pool.patience.silence, c.pool.patience.pong = silence, pong
	}
	return c, err
}

// InFlight is how many requests have a place on a connection.
func (c *Client) InFlight() (n int) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, on := range append(c.pool.ready, c.pool.leaving...) {
		n += on.load
	}
	return n
}

// Waiting is how many requests have no place on a connection.
func (c *Client) Waiting() int {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return len(c.pool.waiters)
}

// Connections is how many connections there are.
func (c *Client) Connections() int {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	return len(c.pool.ready) + len(c.pool.leaving)
}

// Connect sees to it that there is a connection.
func (c *Client) Connect(ctx context.Context) error {
	on, err := c.pool.take(ctx, 0)
	if err == nil {
		c.pool.release(on)
	}
	return err
}

// Queued is how many bytes wait to be given to a socket.
func (c *Client) Queued() (n uint64) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for _, on := range c.pool.ready {
		on.mu.Lock()
		n += on.pending()
		on.mu.Unlock()
	}
	return n
}

// Limits that tests have to reach.
const (
	Spread     = spread
	MostEvents = mostEvents
	FirstPiece = firstPiece
)
