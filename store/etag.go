package store

import (
	"crypto/md5"
	"encoding/hex"
	"strconv"
	"strings"
)

// noMD5 ends an ETag that no MD5 is behind. An MD5 has no dash, and an S3 client
// takes what stands behind one for a number of parts, which is never 0.
const noMD5 = "-0"

// etagOf is the ETag of a body with this MD5: its hex, as on S3. Without an MD5
// it is one that no other version and no other part has.
func etagOf(md5 []byte) string {
	if md5 == nil {
		return randomHex() + noMD5
	}
	return hex.EncodeToString(md5)
}

// multipartETag is the MD5 over the parts' MD5s, then "-" and their number, as
// S3 forms it. Clients compute it again, so where a part has no MD5 the object
// has none either.
func multipartETag(parts []Part) string {
	h := md5.New()
	for _, p := range parts {
		if strings.HasSuffix(p.ETag, noMD5) {
			return etagOf(nil)
		}
		sum, _ := hex.DecodeString(p.ETag) // stored by us, hex
		h.Write(sum)
	}
	return hex.EncodeToString(h.Sum(nil)) + "-" + strconv.Itoa(len(parts))
}

// sameETag compares an ETag as a client may send it back, with or without
// quotes and in either case.
func sameETag(given, stored string) bool {
	return strings.EqualFold(strings.Trim(given, `"`), stored)
}
