package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestJavaScript runs sdk.mjs, which drives AWS's SDK v3 for JavaScript.
func TestJavaScript(t *testing.T) {
	need(t, "node")
	if _, err := os.Stat("node_modules/@aws-sdk/client-s3"); err != nil {
		skips.skip(t, "no npm packages in e2e/node_modules (./task test installs them)")
	}
	script, err := filepath.Abs("sdk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := serve(t, setup{})
			p := newProgram(t, "AWS_ACCESS_KEY_ID="+s.key, "AWS_SECRET_ACCESS_KEY="+s.secret, "AWS_REGION=us-east-1",
				"NODE_EXTRA_CA_CERTS="+s.certificate(), "NODE_NO_WARNINGS=1")
			t.Logf("%s", p.timed("sdk.mjs", "node", script, scheme+"://"+s.s3))
		})
	}
}
