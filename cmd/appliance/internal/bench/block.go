package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/minio/crc64nvme"

	"larder/fault"
)

const blockPrefix = "blocks/"

// blockOf is the block of a writer: always one piece, whatever its size.
func blockOf(writer, size int64) payload {
	p := noise(writer, min(size, payloadBlock))
	if size > payloadBlock {
		p.block = bytes.Repeat(p.block, int(size/payloadBlock+1))[:size]
	}
	return p
}

// varied is the same block with a number in it that makes it another one.
func (p payload) varied(number int64) payload {
	p.block = slices.Clone(p.block)
	binary.BigEndian.PutUint64(p.block, uint64(number))
	return p
}

// blockKey names a block by what it holds: its size and its checksum.
func blockKey(p payload) string {
	return fmt.Sprintf("%s%d-%016x", blockPrefix, p.size(), crc64nvme.Checksum(p.block))
}

// readBlock reads a block and holds it against its name.
func readBlock(ctx context.Context, l lane, key string) (int64, error) {
	var size int64
	var sum uint64
	if _, err := fmt.Sscanf(strings.TrimPrefix(key, blockPrefix), "%d-%x", &size, &sum); err != nil {
		return 0, fault.New("bench.exercise", fault.InvalidKey, key, err)
	}
	h := crc64nvme.New()
	got, err := l.target.Get(ctx, l.bucket, key, "", h)
	if err != nil {
		return 0, err
	}
	if got.size != size || h.Sum64() != sum {
		return 0, fault.New("bench.exercise", fault.Corrupt, key,
			fmt.Errorf("%d bytes with the checksum %016x came instead of what was stored", got.size, h.Sum64()))
	}
	return got.size, nil
}

// blockIndex knows the blocks that were written and are still there. It is safe for
// concurrent use.
type blockIndex struct {
	most int // blocks, before old ones go

	mu    sync.Mutex
	keys  []string       // guarded by mu, as is all below; the oldest first
	held  map[string]int // how many read it
	there map[string]bool
}

// add takes a block up and returns one that is to be removed from the server, or "".
func (x *blockIndex) add(key string) (old string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.there == nil {
		x.there, x.held = map[string]bool{}, map[string]int{}
	}
	if !x.there[key] {
		x.there[key] = true
		x.keys = append(x.keys, key)
	}
	if len(x.keys) <= x.most {
		return ""
	}
	for i, k := range x.keys[:min(len(x.keys), maxWorkers)] {
		if x.held[k] == 0 && k != key {
			x.keys = slices.Delete(x.keys, i, i+1)
			delete(x.there, k)
			return k
		}
	}
	return ""
}

// any holds one of the blocks; "" when there is none.
func (x *blockIndex) any(random *rand.Rand) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.keys) == 0 {
		return ""
	}
	key := x.keys[random.IntN(len(x.keys))]
	x.held[key]++
	return key
}

// hold holds a block by its name, and tells whether it is there.
func (x *blockIndex) hold(key string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.there[key] {
		return false
	}
	x.held[key]++
	return true
}

func (x *blockIndex) release(key string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.held[key]--; x.held[key] <= 0 {
		delete(x.held, key)
	}
}

func (x *blockIndex) count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.keys)
}
