package e2e_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// The names of the framings, from "Signature Calculations for the Authorization
// Header: Transferring Payload in Multiple Chunks" of the S3 API reference.
const (
	signedChunks    = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	unsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
)

// chunked is a body in aws-chunked framing that a test can spoil.
type chunked struct {
	chunks  [][]byte
	decoded int // what x-amz-decoded-content-length says; 0 = the truth
	mode    string
	trailer string              // a line "name:value" for unsignedTrailer
	spoil   func([]byte) []byte // changes the finished frame
}

// request makes a signed request whose body is the frame.
func (b chunked) request(c *s3Client, target string, edits ...edit) *http.Request {
	decoded := b.decoded
	if decoded == 0 {
		decoded = len(bytes.Join(b.chunks, nil))
	}
	edits = append(edits, header(amzContentHash, b.mode), header("Content-Encoding", "aws-chunked"),
		header("X-Amz-Decoded-Content-Length", strconv.Itoa(decoded)))
	if b.trailer != "" {
		name, _, _ := strings.Cut(b.trailer, ":")
		edits = append(edits, header("X-Amz-Trailer", name))
	}
	// The frame's length does not depend on the signatures, so that it can be
	// signed before they are known.
	spoil := b.spoil
	if spoil == nil {
		spoil = func(frame []byte) []byte { return frame }
	}
	frame := spoil(b.frame(nil, "", time.Time{}, ""))
	r := c.request(c.t.Context(), http.MethodPut, target, bytes.NewReader(frame), int64(len(frame)), edits...)
	seed, err := v4.GetSignedRequestSignature(r)
	if err != nil {
		panic(err) // it was signed just now
	}
	at := timeOf(c.t, r)
	frame = spoil(b.frame(signingKey(c.creds.SecretAccessKey, at), hex.EncodeToString(seed), at, scope(at)))
	r.Body = io.NopCloser(bytes.NewReader(frame))
	return r
}

// frame encodes the chunks. seed is the request's signature in hex.
func (b chunked) frame(key []byte, seed string, at time.Time, scope string) []byte {
	var out bytes.Buffer
	previous := seed
	for _, chunk := range append(b.chunks, nil) {
		fmt.Fprintf(&out, "%x", len(chunk))
		if b.mode == signedChunks {
			empty, sum := sha256.Sum256(nil), sha256.Sum256(chunk)
			previous = hex.EncodeToString(mac(key, strings.Join([]string{
				"AWS4-HMAC-SHA256-PAYLOAD", at.Format("20060102T150405Z"), scope, previous, hex.EncodeToString(empty[:]), hex.EncodeToString(sum[:]),
			}, "\n")))
			out.WriteString(";chunk-signature=" + previous)
		}
		out.WriteString("\r\n")
		if len(chunk) > 0 {
			out.Write(chunk)
			out.WriteString("\r\n")
		}
	}
	if b.trailer != "" {
		out.WriteString(b.trailer + "\r\n")
	}
	out.WriteString("\r\n")
	return out.Bytes()
}

func scope(at time.Time) string { return at.Format("20060102") + "/" + region + "/s3/aws4_request" }

func signingKey(secret string, at time.Time) []byte {
	key := mac([]byte("AWS4"+secret), at.Format("20060102"))
	for _, part := range []string{region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	return key
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
