package client

import "sync"

// The sizes of chunks. A piece of a body that is sent fills a large one with
// its frame's header.
const (
	smallChunk  = 2 << 10
	mediumChunk = 16 << 10
	largeChunk  = 128 << 10
)

// chunk is memory for frames, or for bytes of a body. Whoever holds one owns
// it; free gives it back. One that is lost on the way is left to the garbage
// collector.
type chunk struct{ data []byte }

var (
	smallChunks  = sync.Pool{New: func() any { return newChunk(smallChunk) }}
	mediumChunks = sync.Pool{New: func() any { return newChunk(mediumChunk) }}
	largeChunks  = sync.Pool{New: func() any { return newChunk(largeChunk) }}
)

func newChunk(size int) *chunk { return &chunk{data: make([]byte, 0, size)} }

// getChunk returns an empty chunk with room for n bytes, if n is not more than
// the largest has.
func getChunk(n int) *chunk {
	switch {
	case n <= smallChunk:
		return smallChunks.Get().(*chunk)
	case n <= mediumChunk:
		return mediumChunks.Get().(*chunk)
	}
	return largeChunks.Get().(*chunk)
}

// free gives the chunk back. One that has grown goes where it fits, and one
// that has grown much nowhere.
func (k *chunk) free() {
	size := cap(k.data)
	k.data = k.data[:0]
	switch {
	case size > 2*largeChunk:
	case size >= largeChunk:
		largeChunks.Put(k)
	case size >= mediumChunk:
		mediumChunks.Put(k)
	case size >= smallChunk:
		smallChunks.Put(k)
	}
}

// room is how many bytes can be appended in place.
func (k *chunk) room() int { return cap(k.data) - len(k.data) }
