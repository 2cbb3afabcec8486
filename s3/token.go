package s3

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// A continuation token is the key after which a listing goes on, with a sum
// over it and over what is listed. It gives no rights, so it needs no secret:
// the sum is there to refuse tokens of other listings and invented ones, and
// lets a listing go on across a restart.
const tokenVersion = 1

// makeToken makes a token of a listing of scope that goes on after a name.
func makeToken(scope, after string) string {
	b := binary.BigEndian.AppendUint32([]byte{tokenVersion}, tokenSum(scope, after))
	return base64.RawURLEncoding.EncodeToString(append(b, after...))
}

func tokenSum(scope, after string) uint32 {
	b := binary.BigEndian.AppendUint32([]byte("larder token"), uint32(len(scope)))
	return crc32.ChecksumIEEE(append(append(b, scope...), after...))
}

// openToken gives the name that a token of the same scope holds.
func openToken(scope, token string) (after string, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < 5 || b[0] != tokenVersion {
		return "", false
	}
	after = string(b[5:])
	return after, tokenSum(scope, after) == binary.BigEndian.Uint32(b[1:5])
}

// readToken reads a token from a parameter, "" when there is none.
func (c *call) readToken(param, scope string) (after string, err error) {
	token, ok := c.query.Get(param)
	if !ok || token == "" {
		return "", nil
	}
	after, ok = openToken(scope, token)
	if !ok {
		return "", refuse(invalidArgument, "The continuation token provided is incorrect.")
	}
	return after, nil
}
