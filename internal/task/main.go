// Command task makes `go tool task NAME` run a task of Taskfile.yml, as
// ./task NAME does. The task runner itself and the hundred modules that it
// needs stand in tools/go.mod, so that none of them is in the module of Larder.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "task:", err)
		os.Exit(1)
	}
}

// run becomes the task runner, in the folder of the module.
func run(args []string) error {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return err
	}
	root := filepath.Dir(strings.TrimSpace(string(out)))
	if err := os.Chdir(root); err != nil {
		return err
	}
	program, err := exec.LookPath("go")
	if err != nil {
		return err
	}
	return syscall.Exec(program, append([]string{"go", "tool", "-modfile=tools/go.mod", "task"}, args...), os.Environ())
}
