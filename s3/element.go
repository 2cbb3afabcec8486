package s3

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
)

// Limits of documents that clients send.
const (
	maxDocument    = 64 << 10 // bytes, where nothing else is said
	maxDeleteBody  = 2 << 20
	maxPartsBody   = 6 << 20 // 10,000 parts with checksums
	maxDepth       = 16
	maxElements    = 200_000
	maxElementText = 8 << 10 // bytes of text in one element
)

// element is a parsed XML element: either text or children count.
type element struct {
	name     string
	text     string
	children []element
}

// parseXML reads a document whose root has one of the given names. It refuses
// DOCTYPEs and with them all entities, other encodings than UTF-8, foreign
// namespaces, deep nesting, and anything behind the root.
func parseXML(body []byte, roots ...string) (*element, error) {
	p := &xmlParser{dec: xml.NewDecoder(bytes.NewReader(body))}
	root, err := p.document()
	if err != nil {
		return nil, refuse(malformedXML, "")
	}
	for _, name := range roots {
		if root.name == name {
			return root, nil
		}
	}
	return nil, refuse(malformedXML, "The root of the XML document must be "+strings.Join(roots, " or ")+".")
}

type xmlParser struct {
	dec   *xml.Decoder
	count int
}

// document parses the one root element.
func (p *xmlParser) document() (*element, error) {
	var root *element
	for {
		tok, err := p.dec.Token()
		if err == io.EOF && root != nil {
			return root, nil
		}
		if err != nil {
			return nil, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if root != nil {
				return nil, errElement
			}
			e, err := p.element(t, 1)
			if err != nil {
				return nil, err
			}
			root = &e
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, errElement
			}
		case xml.Directive:
			return nil, errElement
		}
	}
}

var errElement = refuse(malformedXML, "")

// element parses what stands between a start tag and its end tag.
func (p *xmlParser) element(start xml.StartElement, depth int) (element, error) {
	e := element{name: start.Name.Local}
	p.count++
	if depth > maxDepth || p.count > maxElements || !knownNamespace(start.Name.Space) {
		return e, errElement
	}
	var text []byte
	for {
		tok, err := p.dec.Token()
		if err != nil {
			return e, err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			child, err := p.element(t, depth+1)
			if err != nil {
				return e, err
			}
			e.children = append(e.children, child)
		case xml.CharData:
			text = append(text, t...)
			if len(text) > maxElementText {
				return e, errElement
			}
		case xml.Directive:
			return e, errElement
		case xml.EndElement:
			err := e.settle(text)
			return e, err
		}
	}
}

// settle keeps an element's text. Text beside children may only be blank.
func (e *element) settle(text []byte) error {
	if len(e.children) == 0 {
		e.text = string(text)
		return nil
	}
	if len(bytes.TrimSpace(text)) > 0 {
		return errElement
	}
	return nil
}

// knownNamespace takes S3's namespace in the spellings that clients use, and
// none at all.
func knownNamespace(ns string) bool {
	ns = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(ns, "https://"), "http://"), "/")
	return ns == "" || ns == "s3.amazonaws.com/doc/2006-03-01" || ns == "doc.s3.amazonaws.com/2006-03-01" ||
		ns == "www.w3.org/2001/XMLSchema-instance"
}
