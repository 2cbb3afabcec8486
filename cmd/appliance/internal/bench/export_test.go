package bench

import (
	"context"
	"io"
	"os"
	"time"

	"larder/store/vfs"
)

// EstimateOf and LatencyOf are the statistics of the figures.
var (
	EstimateOf = estimate
	LatencyOf  = latencyOf
)

// PayloadOf reads a payload whole, in pieces of a size, and returns its own word
// for its size and its SHA-256.
func PayloadOf(seed, size int64, piece int) (read []byte, says int64, sum string) {
	p := noise(seed, size)
	r, buf := p.reader(), make([]byte, piece)
	for {
		n, err := r.Read(buf)
		if read = append(read, buf[:n]...); err == io.EOF {
			return read, p.size(), p.sha256()
		}
	}
}

// Damage says what another client does to a block that an exercise will read.
type Damage func(key string, body []byte) []byte

// ExerciseDamaged puts blocks into a fresh server, lets another client put
// something else under the key of one, and lets readers loose.
func ExerciseDamaged(ctx context.Context, cfg Config, damage Damage) (f Figures, damaged string, err error) {
	b, clean, err := forTest(cfg)
	if err != nil {
		return f, "", err
	}
	defer clean()
	return f, damaged, b.onStage(ctx, b.cfg.Exercise.Readers, func(s *stage) error {
		x := newExercising(b.cfg.Exercise, s.lanes[0])
		if err := x.prefill(ctx); err != nil {
			return err
		}
		other := newS3Target(s.child.s3, s.child.keyID, s.child.secret, 1)
		defer other.Close()
		damaged = x.known.keys[0]
		body := damage(damaged, x.own[0].varied(1).block)
		if _, err := other.Put(ctx, x.lane.bucket, damaged, payload{block: body, times: 1}, condition{}); err != nil {
			return err
		}
		if err := x.run(ctx); err != nil {
			return err
		}
		f = x.reads.figures(x.lane, &x.reads)
		return nil
	})
}

// LogOf commits to a fresh log on a fresh server, lets meddle loose on the store,
// and returns what the audit says.
func LogOf(ctx context.Context, cfg Config, commits int, meddle func(put, remove func(key string) error, payloads []string) error) (audit error, err error) {
	b, clean, err := forTest(cfg)
	if err != nil {
		return nil, err
	}
	defer clean()
	return audit, b.onStage(ctx, 1, func(s *stage) error {
		l, w, body := s.lanes[0], newWALLog("test"), noise(1, 100)
		for range commits {
			if err := w.commit(ctx, l, body); err != nil {
				return err
			}
		}
		err := meddle(func(key string) error {
			_, err := l.target.Put(ctx, l.bucket, key, body, condition{})
			return err
		}, func(key string) error { return l.target.Delete(ctx, l.bucket, key) }, w.committed())
		audit = w.audit(ctx, l)
		return err
	})
}

// Serve starts a server of a binary and returns it as a target for other runs.
func Serve(ctx context.Context, cfg Config, name string) (Remote, func(), error) {
	b, clean, err := forTest(cfg)
	if err != nil {
		return Remote{}, nil, err
	}
	data, err := os.MkdirTemp(b.dir, "served-")
	if err != nil {
		return Remote{}, nil, err
	}
	c, err := b.startChild(ctx, data)
	if err != nil {
		return Remote{}, nil, err
	}
	return Remote{Name: name, URL: c.s3, KeyID: c.keyID, Secret: c.secret}, func() { c.stop(); clean() }, nil
}

// Buckets are the buckets of a server.
func Buckets(ctx context.Context, r Remote) ([]string, error) {
	t := newS3Target(r.URL, r.KeyID, r.Secret, 1)
	defer t.Close()
	text, err := t.document(ctx, s3Request{method: "GET"})
	return elements(text, "Name"), err
}

// RunningChild starts a server, uses it a little, and returns its process.
func RunningChild(ctx context.Context, cfg Config) (pid int, stop func(), err error) {
	b, clean, err := forTest(cfg)
	if err != nil {
		return 0, nil, err
	}
	data, err := os.MkdirTemp(b.dir, "child-")
	if err != nil {
		return 0, nil, err
	}
	c, err := b.startChild(ctx, data)
	if err != nil {
		return 0, nil, err
	}
	return c.pid(), func() { c.stop(); clean() }, nil
}

// CPUTime and Memory read /proc.
func CPUTime(pid int) (time.Duration, error) { return cpuTime(pid) }

func Memory(pid int) (now, peak int64, err error) {
	m, err := memoryOf(pid)
	return m.now, m.peak, err
}

// forTest is a bench as Run makes it, without limits.
func forTest(cfg Config) (*bench, func(), error) {
	cfg, err := prepare(cfg)
	if err != nil {
		return nil, nil, err
	}
	b := &bench{cfg: cfg}
	if b.dir, err = os.MkdirTemp(cfg.Dir, "larder-bench-"); err != nil {
		return nil, nil, err
	}
	b.files, err = vfs.OS(b.dir)
	return b, func() { os.RemoveAll(b.dir) }, err
}
