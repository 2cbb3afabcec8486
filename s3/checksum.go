package s3

import (
	"bytes"
	"encoding/base64"
	"strings"

	"larder/store"
)

// algorithmName is how S3 spells an algorithm in requests and in XML.
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Checksum.html
func algorithmName(a store.Algorithm) string {
	switch a {
	case store.CRC32:
		return "CRC32"
	case store.CRC32C:
		return "CRC32C"
	case store.CRC64NVME:
		return "CRC64NVME"
	case store.SHA1:
		return "SHA1"
	case store.SHA256:
		return "SHA256"
	}
	return ""
}

func algorithms() []store.Algorithm {
	return []store.Algorithm{store.CRC32, store.CRC32C, store.CRC64NVME, store.SHA1, store.SHA256}
}

// parseAlgorithm takes names in any case.
func parseAlgorithm(name string) (store.Algorithm, bool) {
	for _, a := range algorithms() {
		if strings.EqualFold(name, algorithmName(a)) {
			return a, true
		}
	}
	return store.NoChecksum, false
}

const checksumPrefix = "x-amz-checksum-"

// checksumHeader is the header that carries an algorithm's value, in lower
// case.
func checksumHeader(a store.Algorithm) string {
	return checksumPrefix + strings.ToLower(algorithmName(a))
}

func typeName(t store.ChecksumType) string {
	switch t {
	case store.Composite:
		return "COMPOSITE"
	case store.FullObject:
		return "FULL_OBJECT"
	}
	return ""
}

// parseType reads x-amz-checksum-type; "" is 0.
func parseType(s string) (store.ChecksumType, error) {
	switch {
	case s == "":
		return 0, nil
	case strings.EqualFold(s, "COMPOSITE"):
		return store.Composite, nil
	case strings.EqualFold(s, "FULL_OBJECT"):
		return store.FullObject, nil
	}
	return 0, refuse(invalidRequest, "Value for x-amz-checksum-type header is invalid: use COMPOSITE or FULL_OBJECT.")
}

// checkType demands that an algorithm can be of a type: only CRCs can be put
// together from parts, and CRC64NVME is never composite.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity-upload.html
func checkType(a store.Algorithm, t store.ChecksumType) error {
	sha := a == store.SHA1 || a == store.SHA256
	if t == store.FullObject && sha || t == store.Composite && a == store.CRC64NVME {
		return refuse(invalidRequest, "The "+typeName(t)+" checksum type cannot be used with the "+
			algorithmName(a)+" checksum algorithm.")
	}
	return nil
}

// decodeChecksum reads a value in base64 of the algorithm's length.
func decodeChecksum(a store.Algorithm, value string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(value)
	if err != nil || len(b) != a.Size() {
		return nil, refuse(invalidRequest, "Value for "+checksumHeader(a)+" header is invalid.")
	}
	return b, nil
}

// encodeChecksum writes an object's checksum as S3 shows it: base64, with the
// number of parts behind a composite one.
func encodeChecksum(c store.Checksum, parts int) string {
	s := base64.StdEncoding.EncodeToString(c.Value)
	if c.Type == store.Composite && parts > 0 {
		s += "-" + itoa(int64(parts))
	}
	return s
}

// expected is what a request says about its body's digests. Values that come
// in the trailer are added when the body has been read.
type expected struct {
	md5       []byte
	sha256    []byte // from x-amz-content-sha256
	algorithm store.Algorithm
	value     []byte // of the algorithm; nil when it comes in the trailer or not at all
}

// check compares what has been computed with what was said.
func (e *expected) check(d store.Digests) error {
	if e.sha256 != nil && !bytes.Equal(e.sha256, d.SHA256) {
		return refuse(sha256Mismatch, "")
	}
	if e.md5 != nil && !bytes.Equal(e.md5, d.MD5) {
		return refuse(badDigest, "The Content-MD5 you specified did not match what we received.")
	}
	if e.value != nil && (d.Checksum.Algorithm != e.algorithm || !bytes.Equal(e.value, d.Checksum.Value)) {
		return refuse(badDigest, "The "+algorithmName(e.algorithm)+" you specified did not match the calculated checksum.")
	}
	return nil
}
