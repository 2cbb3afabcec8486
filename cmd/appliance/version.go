package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker, see the task build. Nothing else writes to it.
var version = ""

// versionText is the released version, or the commit that was built.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	set := settings(info)
	if rev := set["vcs.revision"]; len(rev) >= 12 {
		text := "dev-" + rev[:12]
		if set["vcs.modified"] == "true" {
			text += "-modified"
		}
		return text
	}
	return "dev"
}

func settings(info *debug.BuildInfo) map[string]string {
	out := map[string]string{}
	for _, s := range info.Settings {
		out[s.Key] = s.Value
	}
	return out
}

// build is what `larder version --json` prints.
type build struct {
	Version      string            `json:"version"`
	Revision     string            `json:"revision,omitempty"`
	Time         string            `json:"time,omitempty"`
	Go           string            `json:"go"`
	Platform     string            `json:"platform"`
	Dependencies map[string]string `json:"dependencies"`
}

func buildInfo() build {
	b := build{
		Version: versionText(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Dependencies: map[string]string{},
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		set := settings(info)
		b.Revision, b.Time = set["vcs.revision"], set["vcs.time"]
		for _, m := range info.Deps {
			b.Dependencies[m.Path] = m.Version
		}
	}
	return b
}

func (p *program) versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return p.printJSON(buildInfo())
			}
			_, err := fmt.Fprintf(p.out, "larder %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, with the libraries that were linked in")
	return cmd
}

// printJSON prints a value for scripts.
func (p *program) printJSON(v any) error {
	enc := json.NewEncoder(p.out)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
