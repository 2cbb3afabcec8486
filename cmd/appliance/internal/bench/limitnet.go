package bench

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net"
	"sync"

	"github.com/minio/crc64nvme"

	"larder/store/vfs"
)

// sends measures a file that goes from the page cache to a socket and out of the
// other one, with nothing around it.
func (r *bare) sends(ctx context.Context) ([]contender, error) {
	var out []contender
	for _, s := range []struct {
		name    string
		size    int64
		workers int
	}{
		{limitSend1, mib, 1}, {limitSend10, 10 * mib, 1},
		{limitSend1Many, mib, manyAtOnce}, {limitSend10Many, 10 * mib, manyAtOnce},
	} {
		name, err := r.file(s.size)
		if err != nil {
			return nil, err
		}
		sender, err := r.sender(ctx, s.workers, func() (answer, error) { return r.fileAnswer(name, s.size) })
		if err != nil {
			return nil, err
		}
		out = append(out, sender.contender(s.name, s.size))
	}
	return out, nil
}

// exchanges measures a question and an answer of 1 KiB: what a server without any
// work would need.
func (r *bare) exchanges(ctx context.Context) ([]contender, error) {
	var out []contender
	text := make([]byte, kib)
	for _, name := range []string{limitExchange, limitChatter} {
		workers := 1
		if name == limitChatter {
			workers = manyAtOnce
		}
		sender, err := r.sender(ctx, workers, func() (answer, error) {
			return func(conn *net.TCPConn) error {
				_, err := conn.Write(text)
				return err
			}, nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, sender.contender(name, kib))
	}
	return out, nil
}

// answer answers one question on a connection.
type answer func(*net.TCPConn) error

// file makes a file of noise and returns its name.
func (r *bare) file(size int64) (string, error) {
	name := r.name()
	return name, r.write(name, noise(2, size).block)
}

// fileAnswer sends a file, which the kernel does by itself: what TCPConn.ReadFrom
// does with an *os.File behind io.CopyN. Each connection reads through a
// descriptor of its own, which has a place of its own.
func (r *bare) fileAnswer(name string, size int64) (answer, error) {
	f, err := r.files.Open(name)
	if err != nil {
		return nil, err
	}
	r.opened = append(r.opened, f)
	file, ok := f.(vfs.OSFile)
	if !ok {
		return nil, errors.New("this file has no descriptor")
	}
	return func(conn *net.TCPConn) error {
		if _, err := file.OSFile().Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := io.CopyN(conn, file.OSFile(), size)
		return err
	}, nil
}

// sender answers each question on its connections with the same bytes, and holds
// the other ends of the connections.
type sender struct {
	conns   []net.Conn
	buffers [][]byte
	wg      sync.WaitGroup
}

const questionSize = 1 << 10

// sender connects over the loopback for so many workers, each of which gets an
// answer of its own.
func (r *bare) sender(ctx context.Context, workers int, answers func() (answer, error)) (*sender, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s := &sender{}
	r.senders = append(r.senders, s)
	var d net.Dialer
	for range workers {
		conn, err := d.DialContext(ctx, "tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		s.conns, s.buffers = append(s.conns, conn), append(s.buffers, make([]byte, readBuffer))
		peer, err := l.Accept()
		if err != nil {
			return nil, err
		}
		give, err := answers()
		if err != nil {
			return nil, errors.Join(err, peer.Close())
		}
		s.wg.Go(func() { give.serve(peer.(*net.TCPConn)) })
	}
	return s, nil
}

// serve ends when the other side closes the connection.
func (a answer) serve(conn *net.TCPConn) {
	defer conn.Close()
	question := make([]byte, questionSize)
	for {
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		if a(conn) != nil {
			return // the one who asked gets less than expected
		}
	}
}

func (s *sender) contender(name string, size int64) contender {
	question := make([]byte, questionSize)
	return contender{name: name, workers: len(s.conns), op: func(_ context.Context, t turn) (outcome, error) {
		conn, buf := s.conns[t.worker], s.buffers[t.worker]
		if _, err := conn.Write(question); err != nil {
			return outcome{}, err
		}
		for left := size; left > 0; {
			n, err := conn.Read(buf[:min(int64(len(buf)), left)])
			left -= int64(n)
			if err != nil {
				return outcome{}, err
			}
		}
		return outcome{bytes: size}, nil
	}}
}

func (s *sender) close() {
	for _, conn := range s.conns {
		_ = conn.Close() // nothing is under way
	}
	s.wg.Wait()
}

// hashes measures the digests that a body passes through, each alone on one
// processor.
func (r *bare) hashes(context.Context) ([]contender, error) {
	var out []contender
	body := noise(3, mib).block
	for _, h := range []struct {
		name string
		hash hash.Hash
	}{
		{limitMD5, md5.New()}, {limitSHA256, sha256.New()},
		{limitCRC32C, crc32.New(crc32.MakeTable(crc32.Castagnoli))}, {limitCRC64, crc64nvme.New()},
	} {
		out = append(out, contender{name: h.name, workers: 1, op: func(context.Context, turn) (outcome, error) {
			n, err := h.hash.Write(body)
			return outcome{bytes: int64(n)}, err
		}})
	}
	return out, nil
}
