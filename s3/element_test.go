package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"larder/s3"
)

func TestParseDelete(t *testing.T) {
	t.Parallel()
	keys, quiet, err := s3.ParseDelete([]byte(`<?xml version="1.0" encoding="UTF-8"?>
<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet>
 <Object><Key> a&amp;b&#13; </Key><VersionId/></Object><!-- c --><Object><Key>c</Key><ETag>"e"</ETag></Object></Delete>
`))
	if err != nil || !quiet || len(keys) != 2 || keys[0] != " a&b\r " || keys[1] != "c" {
		t.Fatalf("%q %v %v", keys, quiet, err)
	}
}

// Bombs, entities, depths and other documents that no client sends.
func TestXMLIsRefused(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<a>", 10_000) + strings.Repeat("</a>", 10_000)
	object := "<Object><Key>k</Key></Object>"
	for name, body := range map[string]string{
		"nothing":           "",
		"text":              "hello",
		"not closed":        "<Delete><Object><Key>k</Key></Object>",
		"doctype":           `<!DOCTYPE x [<!ENTITY a "b">]><Delete>` + object + `</Delete>`,
		"entity":            `<Delete><Object><Key>&a;</Key></Object></Delete>`,
		"external entity":   `<!DOCTYPE x SYSTEM "file:///etc/passwd"><Delete>` + object + `</Delete>`,
		"inner doctype":     `<Delete><!DOCTYPE x>` + object + `</Delete>`,
		"deep":              deep,
		"deep in Delete":    "<Delete>" + deep + "</Delete>",
		"siblings":          "<Delete>" + strings.Repeat("<Object/>", 1_000_000) + "</Delete>",
		"UTF-16":            "\xff\xfe<\x00D\x00",
		"declared UTF-16":   `<?xml version="1.0" encoding="UTF-16"?><Delete>` + object + `</Delete>`,
		"NUL":               "<Delete><Object><Key>a\x00</Key></Object></Delete>",
		"invalid UTF-8":     "<Delete><Object><Key>\xff</Key></Object></Delete>",
		"two roots":         "<Delete>" + object + "</Delete><Delete>" + object + "</Delete>",
		"text behind":       "<Delete>" + object + "</Delete>x",
		"unknown element":   "<Delete><Bucket/>" + object + "</Delete>",
		"unknown in Object": "<Delete><Object><Key>k</Key><Foo/></Object></Delete>",
		"namespace":         `<Delete xmlns="http://evil/">` + object + "</Delete>",
		"other root":        "<Remove>" + object + "</Remove>",
		"no objects":        "<Delete></Delete>",
		"no key":            "<Delete><Object></Object></Delete>",
		"1,001 objects":     "<Delete>" + strings.Repeat(object, 1001) + "</Delete>",
		"text among":        "<Delete>x" + object + "</Delete>",
	} {
		if _, _, err := s3.ParseDelete([]byte(body)); err == nil || s3.ErrorCode(err) != "MalformedXML" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseParts(t *testing.T) {
	t.Parallel()
	parts, err := s3.ParseParts([]byte(`<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>&quot;e1&quot;</ETag>` +
		`<ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part><Part><ETag>e2</ETag><PartNumber> 3 </PartNumber><ChecksumXXHASH3>x</ChecksumXXHASH3></Part></CompleteMultipartUpload>`))
	if err != nil || len(parts) != 2 || parts[0].ETag != "e1" || len(parts[0].Checksum) != 4 || parts[1].Number != 3 {
		t.Fatalf("%+v %v", parts, err)
	}
	part := func(n int) string { return fmt.Sprintf("<Part><PartNumber>%d</PartNumber><ETag>e</ETag></Part>", n) }
	var many strings.Builder
	for i := range 10_001 {
		many.WriteString(part(i + 1))
	}
	for body, code := range map[string]string{
		"":                   "MalformedXML",
		"<Part/>":            "MalformedXML",
		part(0):              "InvalidArgument",
		part(10_001):         "InvalidArgument",
		part(2) + part(1):    "InvalidPartOrder",
		part(1) + part(1):    "InvalidPartOrder",
		many.String():        "MalformedXML",
		"<Bucket>b</Bucket>": "MalformedXML",
		"<Part><PartNumber>1</PartNumber><ETag>e</ETag><ChecksumSHA1>%</ChecksumSHA1></Part>": "InvalidRequest",
	} {
		_, err := s3.ParseParts([]byte("<CompleteMultipartUpload>" + body + "</CompleteMultipartUpload>"))
		if err == nil || s3.ErrorCode(err) != code {
			t.Errorf("%.60s: %v, want %s", body, err, code)
		}
	}
}

func FuzzXML(f *testing.F) {
	f.Add([]byte("<Delete><Quiet>true</Quiet><Object><Key>k</Key></Object></Delete>"))
	f.Add([]byte("<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>e</ETag></Part></CompleteMultipartUpload>"))
	f.Add([]byte(`<!DOCTYPE a><a>&a;</a>`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if keys, _, err := s3.ParseDelete(body); err == nil && (len(keys) == 0 || len(keys) > 1000) {
			t.Fatalf("%d keys", len(keys))
		}
		if parts, err := s3.ParseParts(body); err == nil && len(parts) == 0 {
			t.Fatal("no parts and no error")
		}
	})
}
