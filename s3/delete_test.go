package s3_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

func contentMD5(body string) string {
	sum := md5.Sum([]byte(body))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func crc32Of(body string) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

// Any one digest will do where AWS asks for Content-MD5, minio#20849.
func TestDeleteObjects(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	body := `<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Object><Key>a &amp; b</Key></Object><Object><Key>c</Key></Object><Object><Key>none</Key></Object></Delete>`
	for name, header := range map[string]map[string]string{
		"MD5": {"Content-Md5": contentMD5(body)}, "CRC32": {"x-amz-checksum-crc32": crc32Of(body), "x-amz-sdk-checksum-algorithm": "CRC32"},
	} {
		s.put("/pics/a%20&%20b", "1")
		s.put("/pics/c", "2")
		a := s.want(200, request{method: "POST", target: "/pics?delete", body: body, header: header})
		if strings.Count(a.body, "<Deleted>") != 3 || !strings.Contains(a.body, "<Key>a &amp; b</Key>") || strings.Contains(a.body, "Error") {
			t.Errorf("%s: %s", name, a.body)
		}
		s.gone("/pics/c")
	}
	s.put("/pics/c", "2")
	for code, header := range map[string]map[string]string{
		"BadDigest": {"x-amz-checksum-crc32": crc32Of("x")}, "InvalidRequest": {}, "InvalidDigest": {"Content-Md5": "x"},
	} {
		s.refused(400, code, request{method: "POST", target: "/pics?delete", body: body, header: header})
	}
	s.refused(400, "BadDigest", request{method: "POST", target: "/pics?delete", body: body, header: map[string]string{"Content-Md5": contentMD5("x")}})
	s.holds("/pics/c", "2")
	s.refused(404, "NoSuchBucket", request{method: "POST", target: "/none?delete", body: body, header: map[string]string{"Content-Md5": contentMD5(body)}})
}

func TestDeleteObjectsAnswersPerKey(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	s.put("/pics/a", "1")
	s.put("/pics/b", "2")
	body := `<Delete><Quiet>true</Quiet><Object><Key>a</Key><ETag>` + etagOf("1") + `</ETag></Object>` +
		`<Object><Key>b</Key><ETag>"e"</ETag></Object><Object><Key>b</Key><VersionId>v</VersionId></Object>` +
		`<Object><Key>` + strings.Repeat("k", 1025) + `</Key></Object></Delete>`
	a := s.want(200, request{method: "POST", target: "/pics?delete", body: body, header: map[string]string{"Content-Md5": contentMD5(body)}})
	for _, want := range []string{"<Code>PreconditionFailed<", "<Code>NoSuchVersion<", "<Code>KeyTooLongError<"} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %.600s", want, a.body)
		}
	}
	if strings.Contains(a.body, "<Deleted>") || strings.Count(a.body, "<Error>") != 3 {
		t.Errorf("%.600s", a.body)
	}
	s.gone("/pics/a")
	s.holds("/pics/b", "2")
}

func TestDeleteObjectsRefuses(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.bucket("pics")
	for _, body := range []string{"", "x", "<Delete/>", "<Delete><Object><Key>a</Key><Key>b</Key></Object></Delete>", `<!DOCTYPE a [<!ENTITY b "c">]><Delete><Object><Key>&b;</Key></Object></Delete>`} {
		s.refused(400, "MalformedXML", request{method: "POST", target: "/pics?delete", body: body, header: map[string]string{"Content-Md5": contentMD5(body)}})
	}
	big := strings.Repeat(" ", 2<<20+1)
	s.refused(400, "MaxMessageLengthExceeded", request{method: "POST", target: "/pics?delete", body: big, header: map[string]string{"Content-Md5": contentMD5(big)}})
}
