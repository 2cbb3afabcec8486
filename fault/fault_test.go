package fault_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"larder/fault"
)

func TestCodeOfNeverFails(t *testing.T) {
	t.Parallel()
	inner := fault.New("store.Get", fault.NoSuchKey, "b/k", io.EOF)
	cases := map[string]struct {
		err  error
		want fault.Code
	}{
		"nil":     {nil, fault.OK},
		"foreign": {io.EOF, fault.Internal},
		"own":     {inner, fault.NoSuchKey},
		"wrapped": {fmt.Errorf("more: %w", inner), fault.NoSuchKey},
		"outer":   {fault.New("gate.Get", fault.Denied, "b/k", inner), fault.Denied},
	}
	for name, c := range cases {
		if got := fault.CodeOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if !errors.Is(inner, io.EOF) {
		t.Error("the cause is lost")
	}
}

func TestHintOfFindsTheFirstHint(t *testing.T) {
	t.Parallel()
	inner := fault.New("a", fault.NoSpace, "", nil).WithHint("Make room.")
	outer := fault.New("b", fault.Internal, "", inner)
	if got := fault.HintOf(fmt.Errorf("x: %w", outer)); got != "Make room." {
		t.Errorf("hint %q", got)
	}
	if fault.HintOf(io.EOF) != "" || fault.HintOf(nil) != "" {
		t.Error("a hint out of nothing")
	}
}

func TestErrorTextHoldsAllForTheLog(t *testing.T) {
	t.Parallel()
	text := fault.New("store.Put", fault.NoSpace, "bucket/key", io.ErrShortWrite).WithHint("Make room.").Error()
	for _, part := range []string{"store.Put", "no space", "bucket/key", "Make room.", "short write"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q lacks %q", text, part)
		}
	}
}

func TestEveryCodeHasItsOwnText(t *testing.T) {
	t.Parallel()
	seen := map[string]fault.Code{}
	for _, c := range fault.Codes() {
		text := c.String()
		if strings.HasPrefix(text, "code ") || seen[text] != 0 {
			t.Errorf("%d has the text %q", c, text)
		}
		seen[text] = c
	}
}
