// Package assets holds the console's style sheet, script and drawings. They
// are embedded, named by a hash of their bytes, and served from memory, so a
// browser may keep them for ever.
package assets

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:embed css/*.css js/*.js svg/*.svg
var files embed.FS

// sources says which files make up which asset, in order.
func sources() map[string][]string {
	return map[string][]string{
		"larder.css": {
			"css/tokens.css", "css/base.css", "css/frame.css", "css/controls.css",
			"css/lists.css", "css/cards.css", "css/pages.css",
		},
		"larder.js": {"js/larder.js"},
		"icons.svg": {"svg/icons.svg"},
		"mark.svg":  {"svg/mark.svg"},
	}
}

// contentTypes is explicit, since the operating system's table may say
// anything about an ending.
func contentTypes() map[string]string {
	return map[string]string{
		".css": "text/css; charset=utf-8",
		".js":  "text/javascript; charset=utf-8",
		".svg": "image/svg+xml",
	}
}

type asset struct {
	contentType string
	plain, gzip []byte
}

// Bundle is the set of assets. It does not change after Load and is safe for
// concurrent use.
type Bundle struct {
	paths  map[string]string // name -> path with hash
	assets map[string]asset  // path -> bytes
}

// load reads and compresses the embedded files.
func load() (*Bundle, error) {
	b := &Bundle{paths: map[string]string{}, assets: map[string]asset{}}
	for name, parts := range sources() {
		body, err := join(parts)
		if err != nil {
			return nil, err
		}
		if err := b.add(name, body); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func join(parts []string) ([]byte, error) {
	var body []byte
	for _, part := range parts {
		b, err := files.ReadFile(part)
		if err != nil {
			return nil, fmt.Errorf("assets: %w", err)
		}
		body = append(body, b...)
	}
	return body, nil
}

func (b *Bundle) add(name string, body []byte) error {
	sum := sha256.Sum256(body)
	ext := path.Ext(name)
	hashed := "/assets/" + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	packed, err := compress(body)
	if err != nil {
		return err
	}
	b.paths[name] = hashed
	b.assets[hashed] = asset{contentType: contentTypes()[ext], plain: body, gzip: packed}
	return nil
}

func compress(body []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("assets: %w", err)
	}
	if _, err := z.Write(body); err != nil {
		return nil, fmt.Errorf("assets: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("assets: %w", err)
	}
	return out.Bytes(), nil
}

// loaded is the bundle of the embedded files. It depends on nothing else, so
// one for the whole process does for every console in it.
var loaded = sync.OnceValues(load)

// Load returns the bundle. It fails only when the program was built wrongly.
func Load() (*Bundle, error) { return loaded() }

// Path returns the path under which the named asset is served, or "".
func Path(name string) string {
	b, err := loaded()
	if err != nil {
		return ""
	}
	return b.paths[name]
}

// Paths returns every path, in no order.
func (b *Bundle) Paths() []string {
	var out []string
	for _, p := range b.paths {
		out = append(out, p)
	}
	return out
}

// ServeHTTP answers an asset's path, and 404 to everything else.
func (b *Bundle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, ok := b.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.gzip
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(body) // an error means that the browser went away
	}
}
