package archtest_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "larder"

// pkg is one package of the module, as `go list` describes it.
type pkg struct {
	ImportPath                         string
	Dir                                string
	Imports                            []string
	GoFiles, TestGoFiles, XTestGoFiles []string
}

// name is the import path below the module: "store/index", "" for its root.
func (p pkg) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
}

// forTests tells whether only tests import the package.
func (p pkg) forTests() bool {
	return strings.HasSuffix(p.ImportPath, "test") || strings.HasPrefix(p.name(), "e2e")
}

// file is one parsed source file.
type file struct {
	pkg       pkg
	name      string // relative to the module
	test      bool
	generated bool
	syntax    *ast.File
	set       *token.FileSet
}

func (f file) line(p token.Pos) int { return f.set.Position(p).Line }

// lines is the number of lines of the file.
func (f file) lines() int { return f.set.File(f.syntax.Pos()).LineCount() }

type loaded struct {
	packages []pkg
	files    []file
	err      error
}

// load lists and parses the module once for all tests of this package.
var load = sync.OnceValue(func() loaded {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Imports,GoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		return loaded{err: err}
	}
	var l loaded
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return l
		} else if err != nil {
			return loaded{err: err}
		}
		l.packages = append(l.packages, p)
		l.err = errors.Join(l.err, l.parse(p, p.GoFiles, false),
			l.parse(p, p.TestGoFiles, true), l.parse(p, p.XTestGoFiles, true))
	}
})

func (l *loaded) parse(p pkg, names []string, test bool) error {
	for _, name := range names {
		set := token.NewFileSet()
		syntax, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		l.files = append(l.files, file{
			pkg: p, name: filepath.Join(p.name(), name), test: test,
			generated: ast.IsGenerated(syntax), syntax: syntax, set: set,
		})
	}
	return nil
}

func packages(t *testing.T) []pkg {
	t.Helper()
	l := load()
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.packages
}

func files(t *testing.T) []file {
	t.Helper()
	packages(t)
	return load().files
}

// productFiles are the files that are neither tests nor generated nor of
// packages that only tests import.
func productFiles(t *testing.T) []file {
	t.Helper()
	var out []file
	for _, f := range files(t) {
		if !f.test && !f.generated && !f.pkg.forTests() {
			out = append(out, f)
		}
	}
	return out
}

// selector returns "os.Open" for a reference to a name of an imported package,
// whatever the import is called in the file.
func (f file) selector(n ast.Node) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || x.Obj != nil { // a variable of that name
		return ""
	}
	for _, imp := range f.syntax.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == x.Name {
			return path + "." + sel.Sel.Name
		}
	}
	return ""
}
