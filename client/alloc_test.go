package client_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"testing"

	"larder/client"
	"larder/native/wire"
)

// echo answers puts, gets and heads of one object without allocating, so that
// what is counted is the client's.
func echo(size int) script {
	payload := make([]byte, size)
	answer := map[wire.Op][]byte{
		wire.OpPut:  object(0, size, true),
		wire.OpHead: object(0, size, true),
		wire.OpGet:  object(0, size, false),
	}
	body, end := data(0, payload), trailer(payload).Append(nil, 0)
	return func(p *peer) {
		in, out := make([]byte, 256<<10), make([]byte, 0, 256<<10)
		number := func(frame []byte, stream uint32) {
			at := len(out)
			out = append(out, frame...)
			binary.BigEndian.PutUint32(out[at+4:], stream)
		}
		op := wire.Op(0)
		for {
			if _, err := io.ReadFull(p.nc, in[:wire.HeaderSize]); err != nil {
				return
			}
			h, err := wire.ParseHeader(in, wire.FromClient)
			if err != nil {
				p.t.Error(err)
				return
			}
			if _, err := io.ReadFull(p.nc, in[:h.Length]); err != nil {
				return
			}
			out = out[:0]
			switch h.Type {
			case wire.TypeRequest:
				op = wire.ParseOp(in)
				if !h.Last {
					continue
				}
			case wire.TypeData: // credit is given back at once
				out = wire.AppendCredit(wire.AppendCredit(out, h.Stream, h.Length), 0, h.Length)
			}
			if h.Last || h.Type == wire.TypeEnd {
				number(answer[op], h.Stream)
			}
			if op == wire.OpGet {
				number(body, h.Stream)
				number(end, h.Stream)
			}
			if _, err := p.nc.Write(out); err != nil {
				return
			}
		}
	}
}

// small are the calls whose cost is held.
func small(t testing.TB, c *client.Client, size int) map[string]func() {
	ctx, body, buf := context.Background(), bytes.NewReader(make([]byte, size)), make([]byte, size)
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]func(){
		"Put": func() {
			body.Reset(buf)
			_, err := c.Put(ctx, "bucket", "key", body, nil)
			check(err)
		},
		"Get": func() {
			r, err := c.Get(ctx, "bucket", "key", nil)
			check(err)
			_, err = io.ReadFull(r, buf)
			check(err)
			check(r.Close())
		},
		"Head": func() {
			_, err := c.Head(ctx, "bucket", "key", nil)
			check(err)
		},
	}
}

// TestAllocations holds what a small request costs: one for the reader of a Get,
// all others in package wire.
func TestAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector allocates too")
	}
	c := connect(t, serve(t, offer(), echo(4096)))
	most := map[string]float64{"Put": 8, "Get": 9, "Head": 8}
	for name, call := range small(t, c, 4096) {
		call()
		if got := testing.AllocsPerRun(500, call); got > most[name] {
			t.Errorf("%s: %v allocations, %v are allowed", name, got, most[name])
		} else {
			t.Logf("%s: %v allocations", name, got)
		}
	}
}
