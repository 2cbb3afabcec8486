package vfs_test

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"larder/fault"
	"larder/store/vfs"
)

// TestSpareDescriptors lends them to a call that has none, and to no other.
func TestSpareDescriptors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		errs []error // of the calls in turn
		want error
		held []int // descriptors held back, at each call
	}{
		"no lack":            {[]error{nil}, nil, []int{3}},
		"another error":      {[]error{syscall.EIO}, syscall.EIO, []int{3}},
		"of the process":     {[]error{syscall.EMFILE, nil}, nil, []int{3, 0}},
		"of the system":      {[]error{&fs.PathError{Err: syscall.ENFILE}, nil}, nil, []int{3, 0}},
		"others are faster":  {[]error{syscall.EMFILE, syscall.EMFILE}, syscall.EMFILE, []int{3, 0}},
		"another error then": {[]error{syscall.EMFILE, syscall.EIO}, syscall.EIO, []int{3, 0}},
	} {
		f, err := vfs.OS(dir)
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		err = vfs.LendForTest(f, func() error {
			if held := vfs.SparesForTest(f); held != c.held[calls] {
				t.Errorf("%s: %d descriptors are held back at call %d", name, held, calls)
			}
			calls++
			return c.errs[calls-1]
		})
		if !errors.Is(err, c.want) || calls != len(c.errs) || vfs.SparesForTest(f) != 3 {
			t.Errorf("%s: %v after %d calls, %d held back", name, err, calls, vfs.SparesForTest(f))
		}
	}
	if vfs.CodeOf(syscall.ENFILE) != fault.Unavailable {
		t.Error("too many open files are no reason to try again")
	}
}
