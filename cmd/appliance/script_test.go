package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs testdata/script: the command line as a person types it.
//
// Beside testscript's own commands there are
//
//	start [VAR=value...] [flag...]   serve in the background until ready; sets
//	                                 $S3, $CONSOLE and $CODE
//	stop                             SIGTERM; the exit must be clean. Its log is
//	                                 then in the file log
//	get URL [AUTHORIZATION]          prints the answer
//	put URL [FILE]                   makes a bucket or an object with the key of $BEARER
//	kill                             SIGKILL; the log is then in the file log
//	scribble FILE OFFSET             turns the bits of one byte of a file
//
// `start $KEY_ID $KEY_SECRET` starts a server with a key that may everything, and
// $BEARER is its authorization.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KEY_ID", firstKey()[0])
			env.Setenv("KEY_SECRET", firstKey()[1])
			env.Setenv("BEARER", bearer)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": scriptStart, "stop": scriptStop, "get": scriptGet,
			"put": scriptPut, "kill": scriptKill, "scribble": scriptScribble,
		},
	})
}

// servers maps a script to the server that it started.
var servers sync.Map

func scriptStart(ts *testscript.TestScript, neg bool, args []string) {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		env, args = append(env, args[0]), args[1:]
	}
	p, err := launch("larder", ts.MkAbs("."), env, args)
	if neg {
		if err == nil {
			_ = p.stop()
			ts.Fatalf("the server started")
		}
		ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(err.Error()), 0o600))
		return
	}
	ts.Check(err)
	ts.Defer(func() { _ = p.stop() })
	ts.Setenv("S3", p.s3)
	ts.Setenv("CONSOLE", p.console)
	ts.Setenv("CODE", p.code)
	servers.Store(ts, p)
}

func scriptStop(ts *testscript.TestScript, _ bool, _ []string) {
	v, ok := servers.LoadAndDelete(ts)
	if !ok {
		ts.Fatalf("no server runs")
	}
	p := v.(*process)
	ts.Check(p.stop())
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(p.logText()), 0o600))
}

func scriptGet(ts *testscript.TestScript, neg bool, args []string) {
	req, err := http.NewRequest(http.MethodGet, args[0], nil)
	ts.Check(err)
	if len(args) > 1 {
		req.Header.Set("Authorization", args[1])
	}
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	ts.Check(err)
	_, err = ts.Stdout().Write(body)
	ts.Check(err)
	if failed := resp.StatusCode >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("%s: %s\n%s", args[0], resp.Status, body)
	}
}

func scriptPut(ts *testscript.TestScript, neg bool, args []string) {
	var body string
	if len(args) > 1 {
		body = ts.ReadFile(args[1])
	}
	status, text, err := request(http.MethodPut, args[0], strings.NewReader(body))
	ts.Check(err)
	if failed := status >= http.StatusBadRequest; failed != neg {
		ts.Fatalf("%s: %d\n%s", args[0], status, text)
	}
}

func scriptKill(ts *testscript.TestScript, _ bool, _ []string) {
	v, ok := servers.LoadAndDelete(ts)
	if !ok {
		ts.Fatalf("no server runs")
	}
	p := v.(*process)
	ts.Check(p.cmd.Process.Kill())
	<-p.exited
	ts.Check(os.WriteFile(ts.MkAbs("log"), []byte(p.logText()), 0o600))
}

func scriptScribble(ts *testscript.TestScript, _ bool, args []string) {
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], offset)
	ts.Check(err)
	b[0] ^= 0xff
	_, err = f.WriteAt(b[:], offset)
	ts.Check(err)
}
