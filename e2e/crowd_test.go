package e2e_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

const metaState = "X-Amz-Meta-State"

// crowdOf says how a crowd behaves.
type crowdOf struct {
	writers, readers int
	keys             int     // of each writer
	sizes            []int64 // earlier ones are drawn more often
	round            int     // the choices of each round are others
	brokenDisk       bool    // the server may refuse with an error of its own
	plain            bool    // puts and deletes only
	alone            bool    // nobody changes keys and buckets meanwhile
}

// usual is 16 writers and 2 readers over all sizes.
func usual(round int) crowdOf {
	return crowdOf{writers: 16, readers: 2, keys: 40, sizes: crashSizes(), round: round}
}

// crashSizes stand on both sides of the inline limit of 128 KiB and of a chunk.
func crashSizes() []int64 {
	return []int64{0, 1, 900, 4096, 65_535, 65_536, 131_071, 131_072, 131_073, 300_000, 1 << 20, 5<<20 + 1}
}

// smallSizes are crashSizes without those that take long to make and to read.
func smallSizes() []int64 { return []int64{0, 1, 900, 4096, 20_000, 65_536, 131_072, 131_073, 300_000} }

// crowd is clients at work, until the server dies or refuses.
type crowd struct {
	crowdOf
	c     *s3Client
	book  *ledger
	acks  atomic.Int64
	reads atomic.Int64 // whole objects that a reader got and that proved themselves
	done  chan struct{}
}

// startCrowd lets the clients go.
func startCrowd(c *s3Client, book *ledger, how crowdOf) *crowd {
	g := &crowd{crowdOf: how, c: c, book: book, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		atOnce(how.writers+how.readers, func(i int) error {
			w := &crashWriter{crowd: g, id: i % max(how.writers, 1), choose: random(fmt.Sprint("client ", how.round, " ", i))}
			if i < how.writers {
				return w.run()
			}
			return w.read()
		})
	}()
	return g
}

// awaitAcks waits until the writers are well under way.
func (g *crowd) awaitAcks(t *testing.T) {
	t.Helper()
	await(t, "first acknowledgements", readyWithin, func() bool { return g.acks.Load() > int64(g.writers) })
}

// wait returns when all clients have ended.
func (g *crowd) wait() { <-g.done }

// crashWriter writes to keys of its own until the server is gone.
type crashWriter struct {
	*crowd
	id     int
	choose *rand.Rand
}

func (w *crashWriter) run() error {
	for {
		key := w.key()
		was := w.book.stateOf(key)
		next := state{version: was.version + 1, size: w.size()}
		var err error
		switch dice := w.choose.IntN(40); {
		case dice < 6 && was.version > 0:
			err = w.change(key, state{}, w.delete)
		case w.plain:
			err = w.change(key, next, w.put)
		case dice == 6:
			err = w.change(key, next, w.multipart)
		case dice == 7:
			err = w.change(key, state{version: next.version, size: 5<<20 + 77}, w.multipart)
		case dice == 8:
			err = w.abort(key)
		case dice < 13:
			err = w.copy(key, next.version)
		case dice == 13:
			err = w.deleteMany()
		default:
			err = w.change(key, next, w.put)
		}
		if err != nil {
			return err // the server is dying; what stands will be looked at
		}
	}
}

func (w *crashWriter) key() string { return fmt.Sprintf("w%02d/%03d", w.id, w.choose.IntN(w.keys)) }

// size draws small ones often, so that many records are under way at a crash.
func (w *crashWriter) size() int64 { return w.sizes[w.choose.IntN(1+w.choose.IntN(len(w.sizes)))] }

// change notes the intent, acts, and notes the acknowledgement.
func (w *crashWriter) change(key string, next state, act func(string, state) error) error {
	w.book.intend(key, next)
	if err := act(key, next); err != nil {
		return err
	}
	if !w.book.ack(key) {
		return errTooLate
	}
	w.acks.Add(1)
	return nil
}

// errTooLate ends a client whose answer came while the power went.
var errTooLate = errors.New("answered too late to count")

// read gets objects of all writers while they change. What arrives whole has
// to be one whole version, whichever.
func (w *crashWriter) read() error {
	for {
		key := fmt.Sprintf("w%02d/%03d", w.choose.IntN(w.writers), w.choose.IntN(w.keys))
		a, err := w.c.try(w.c.t.Context(), http.MethodGet, "/"+crashBucket+"/"+key, nil, 0)
		if err != nil {
			return err
		}
		switch found, err := stateIn(a); {
		case a.status == http.StatusNotFound:
		case a.status >= 500 && w.brokenDisk:
			return fmt.Errorf("status %d", a.status)
		case a.status != http.StatusOK, err != nil:
			w.c.t.Errorf("GET %s: %v %v", key, a, err)
			return err
		case !slices.Equal(found.body(key), a.body):
			w.c.t.Errorf("GET %s: a whole answer that is not %s", key, found)
		default:
			w.reads.Add(1)
		}
	}
}

// stateIn reads the state that a writer stored with an object.
func stateIn(a answer) (s state, err error) {
	if a.status != http.StatusOK {
		return s, nil
	}
	text := a.header.Get(metaState)
	fields := strings.Split(text, "/")
	if len(fields) < 4 {
		return s, fmt.Errorf("metadata %q", text)
	}
	s.of = strings.Join(fields[2:len(fields)-1], "/")
	_, err = fmt.Sscanf(fields[0]+" "+fields[1]+" "+fields[len(fields)-1], "%d %d %d", &s.version, &s.size, &s.ofTurn)
	return s, err
}
