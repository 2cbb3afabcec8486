package client

import (
	"encoding/binary"
	"sync"

	"larder/native/wire"
)

// parcel is what a request begins with: its REQUEST, and the first piece of its
// body, with the END where that is all of it. The frames are encoded once and
// get the number of a stream each time that they are sent.
type parcel struct {
	frames   []byte
	data     int  // where the DATA frame begins; 0: there is none
	body     int  // bytes of DATA
	end      int  // where the END frame begins; 0: there is none
	complete bool // nothing follows
}

var parcels = sync.Pool{New: func() any { return &parcel{frames: make([]byte, 0, smallChunk)} }}

func getParcel() *parcel { return parcels.Get().(*parcel) }

func (p *parcel) free() {
	if cap(p.frames) > largeChunk {
		return
	}
	*p = parcel{frames: p.frames[:0]}
	parcels.Put(p)
}

// ask encodes the request. It tells whether the request is short enough for its
// operation.
func (p *parcel) ask(req *wire.Request) bool {
	*p = parcel{frames: p.frames[:0], complete: !req.Op.HasBody()}
	p.frames, _ = wire.BeginFrame(p.frames, wire.TypeRequest, p.complete, 0)
	p.frames = wire.EndFrame(req.Append(p.frames), 0)
	return len(p.frames)-wire.HeaderSize <= req.Op.MostBytes()
}

// request is the REQUEST alone.
func (p *parcel) request() []byte {
	if p.data > 0 {
		return p.frames[:p.data]
	}
	if p.end > 0 {
		return p.frames[:p.end]
	}
	return p.frames
}

// piece is the first piece of the body.
func (p *parcel) piece() []byte {
	at := p.data + wire.HeaderSize
	return p.frames[at : at+p.body]
}

// number puts a stream's number into every frame.
func (p *parcel) number(stream uint32) {
	const at = 4 // of the number in a frame's header
	binary.BigEndian.PutUint32(p.frames[at:], stream)
	if p.data > 0 {
		binary.BigEndian.PutUint32(p.frames[p.data+at:], stream)
	}
	if p.end > 0 {
		binary.BigEndian.PutUint32(p.frames[p.end+at:], stream)
	}
}
