package scrubber

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"larder/store"
)

// memoryFormat is the version of what is written down. Another one is not read:
// then the pass begins anew, and finds again what is damaged.
const memoryFormat = 1

// memory is what a scrubber writes down.
type memory struct {
	Format int       `json:"format"`
	Paused bool      `json:"paused"`
	Hurry  bool      `json:"hurry"` // the pass was asked for: see RunNow
	Due    time.Time `json:"due"`   // when the next pass begins
	Pass   progress  `json:"pass"`
	Last   Report    `json:"last"`
	Book   book      `json:"findings"`
}

// progress is where a pass stands.
type progress struct {
	Running  bool         `json:"running"`
	Deadline time.Time    `json:"deadline"`
	Cursor   store.Cursor `json:"cursor"`
	Total    int64        `json:"total_bytes"` // as it was estimated at the start
	Read     int64        `json:"read_bytes"`  // skimming included
	Report   Report       `json:"report"`      // so far
}

// envelope protects the memory by a checksum: it lies on the disk that it is
// about.
type envelope struct {
	Sum   string          `json:"crc32c"`
	State json.RawMessage `json:"state"`
}

func sumOf(b []byte) string {
	return fmt.Sprintf("%08x", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func (m *memory) encode() ([]byte, error) {
	state, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{Sum: sumOf(state), State: state})
}

func decodeMemory(b []byte) (m memory, err error) {
	var e envelope
	if err := json.Unmarshal(b, &e); err != nil {
		return m, err
	}
	if sumOf(e.State) != e.Sum {
		return m, errors.New("the checksum does not match")
	}
	if err := json.Unmarshal(e.State, &m); err != nil {
		return memory{}, err
	}
	if m.Format != memoryFormat {
		return memory{}, fmt.Errorf("format %d is not known", m.Format)
	}
	return m, nil
}
