package archtest_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestNoPackageState holds that package-level variables are tables, errors and
// embedded files that nobody writes to after the program has started. What
// varies belongs into a struct that somebody makes and owns.
func TestNoPackageState(t *testing.T) {
	t.Parallel()
	byPackage := map[string][]file{}
	for _, f := range productFiles(t) {
		byPackage[f.pkg.name()] = append(byPackage[f.pkg.name()], f)
	}
	for _, group := range byPackage {
		vars := packageVars(t, group)
		for _, f := range group {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
					checkWrites(t, f, fn, vars)
				}
			}
		}
	}
}

// packageVars returns the names of a package's variables. Variables that exist
// to be changed are errors at once.
func packageVars(t *testing.T, group []file) map[string]bool {
	t.Helper()
	vars := map[string]bool{}
	for _, f := range group {
		for _, d := range f.syntax.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.ValueSpec)
				for _, name := range spec.Names {
					vars[name.Name] = name.Name != "_"
				}
				ast.Inspect(spec, func(n ast.Node) bool {
					typ := f.selector(n)
					if isState(typ) {
						t.Errorf("%s:%d: package-level state (%s)", f.name, f.line(n.Pos()), typ)
					}
					return true
				})
			}
		}
	}
	return vars
}

// isState tells whether a type of sync or sync/atomic holds more than a result
// or buffers for reuse.
func isState(typ string) bool {
	harmless := typ == "sync.Pool" || strings.HasPrefix(typ, "sync.OnceValue")
	return !harmless && (strings.HasPrefix(typ, "sync.") || strings.HasPrefix(typ, "sync/atomic."))
}

// checkWrites reports assignments to package variables, to their elements and
// fields, and their addresses.
func checkWrites(t *testing.T, f file, fn *ast.FuncDecl, vars map[string]bool) {
	t.Helper()
	report := func(e ast.Expr) {
		if id := root(e); id != nil && vars[id.Name] && packageLevel(f, id) {
			t.Errorf("%s:%d: %s is written to after the start", f.name, f.line(e.Pos()), id.Name)
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if n.Tok != token.DEFINE {
					report(left)
				}
			}
		case *ast.IncDecStmt:
			report(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				report(n.X)
			}
		}
		return true
	})
}

// root is the variable at the left of a.b[c].d.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// packageLevel tells whether the name means the package's variable here: the
// parser found no declaration in the file, or the one at its top level.
func packageLevel(f file, id *ast.Ident) bool {
	return id.Obj == nil || id.Obj == f.syntax.Scope.Lookup(id.Name)
}
