package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"sync/atomic"
)

// keeper makes, disables and deletes access keys, and makes and deletes
// buckets, one after the other over the server's socket, and remembers what was
// acknowledged. An acknowledged revocation holds after any crash.
type keeper struct {
	s       *server
	made    []*madeKey // newest last; deleted ones stay, to be tried again
	buckets map[string]bool
	doubt   string // the bucket, or the key's id, whose change was not answered
	turn    int
	acks    int64
	closed  atomic.Bool // what is answered now counts as not answered
	choose  *rand.Rand
	http    *http.Client // over the server's socket, as the command line does
}

// madeKey is an access key as it was acknowledged.
type madeKey struct {
	ID, Secret string
	works      bool
	client     *s3Client
}

const (
	firstKeys = 4  // are made before the first crash
	keptKeys  = 12 // are tried after each: the newest
)

func newKeeper(s *server) *keeper {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		dir, err := os.Open(s.dir) // the path of a socket has to be short
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		var d net.Dialer
		return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/larder.sock", dir.Fd()))
	}
	transport := &http.Transport{DialContext: dial, DisableKeepAlives: true}
	k := &keeper{s: s, buckets: map[string]bool{}, choose: random("keeper " + s.t.Name()), http: &http.Client{Transport: transport}}
	for range firstKeys {
		if err := k.step(); err != nil {
			s.t.Fatal(err)
		}
	}
	return k
}

// run changes things until the server is gone.
func (k *keeper) run() {
	for k.step() == nil {
	}
}

// step seldom makes a key, which costs a bcrypt, and more often does the rest.
func (k *keeper) step() error {
	k.turn++
	var err error
	switch dice := k.choose.IntN(20); {
	case dice == 0 || len(k.made) < firstKeys:
		err = k.makeKey()
	case dice < 11:
		err = k.changeKey(k.made[k.choose.IntN(len(k.made))], dice == 1)
	default:
		err = k.changeBucket()
	}
	if err == nil {
		k.doubt, k.acks = "", k.acks+1
	}
	return err
}

func (k *keeper) makeKey() error {
	made := &madeKey{works: true}
	grant := map[string]string{"bucket": crashBucket, "prefix": "", "rights": "read"}
	err := k.call(http.MethodPost, "/api/v1/keys", map[string]any{"name": fmt.Sprint("key ", k.turn), "grants": []any{grant}}, made)
	if err != nil {
		return err
	}
	made.client = newS3Client(k.s.t, "http://"+k.s.s3, made.ID, made.Secret)
	k.made = append(k.made, made)
	k.made = k.made[max(0, len(k.made)-keptKeys):]
	return nil
}

// changeKey disables a key, or enables it again, or deletes it for good.
func (k *keeper) changeKey(key *madeKey, forGood bool) error {
	k.doubt = key.ID
	path := "/api/v1/keys/" + key.ID
	var err error
	if forGood && key.works {
		err = k.call(http.MethodDelete, path, nil, nil)
	} else {
		err = k.call(http.MethodPatch, path, map[string]bool{"disabled": key.works}, nil)
	}
	if refused, ok := err.(*refusal); ok && refused.status == http.StatusNotFound && !key.works {
		return nil // deleted before: it stays so
	}
	if err == nil {
		key.works = !key.works
	}
	return err
}

func (k *keeper) changeBucket() error {
	name := fmt.Sprintf("kept-%d", k.choose.IntN(4))
	k.doubt = name
	var err error
	if k.buckets[name] {
		err = k.call(http.MethodDelete, "/api/v1/buckets/"+name, nil, nil)
	} else {
		err = k.call(http.MethodPost, "/api/v1/buckets", map[string]string{"name": name}, nil)
	}
	if err == nil {
		k.buckets[name] = !k.buckets[name]
	}
	return err
}

// verify tries every key and looks at every bucket. What was under way may be
// in either state, and is taken as it is found.
func (k *keeper) verify() {
	k.s.t.Helper()
	for _, key := range k.made {
		a := key.client.do(http.MethodGet, "/"+crashBucket+"?list-type=2&max-keys=1", nil)
		works := a.status == http.StatusOK
		if !works && a.status != http.StatusForbidden {
			k.s.t.Errorf("a listing with key %s: %v", key.ID, a)
		}
		if works != key.works && k.doubt != key.ID {
			k.s.t.Errorf("key %s works: %v, acknowledged was: %v", key.ID, works, key.works)
		}
		key.works = works
	}
	c := k.s.client()
	for name, stands := range k.buckets {
		found := c.do(http.MethodHead, "/"+name, nil).status == http.StatusOK
		if found != stands && k.doubt != name {
			k.s.t.Errorf("bucket %s stands: %v, acknowledged was: %v", name, found, stands)
		}
		k.buckets[name] = found
	}
	k.doubt = ""
}

// refusal is an answer of the admin API that is not a yes.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.text) }

// call makes one request of the admin API.
func (k *keeper) call(method, path string, in, out any) error {
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	if in == nil {
		text = nil
	}
	ctx, cancel := context.WithTimeout(k.s.t.Context(), readyWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://socket"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := k.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if k.closed.Load() {
		return errTooLate
	}
	if resp.StatusCode >= 300 {
		return &refusal{resp.StatusCode, string(answer)}
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}
