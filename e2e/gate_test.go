package e2e_test

import "io"

// gate is a body that stops behind its first bytes until it is let on: an
// upload that is surely in the middle.
type gate struct {
	inner io.Reader
	left  int64         // bytes before the stop
	half  chan struct{} // closed at the stop
	rest  chan struct{} // close it to let the rest through
}

func newGate(inner io.Reader, after int64) *gate {
	return &gate{inner: inner, left: after, half: make(chan struct{}), rest: make(chan struct{})}
}

func (g *gate) Read(p []byte) (int, error) {
	if g.left <= 0 && g.half != nil {
		close(g.half)
		<-g.rest
		g.half = nil
	}
	n, err := g.inner.Read(p)
	g.left -= int64(n)
	return n, err
}
