package wire_test

import (
	"strings"
	"time"

	"larder/fault"
	"larder/native/wire"
)

// run are n bytes that ascend from a first one.
func run(from byte, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = from + byte(i)
	}
	return b
}

const etag = "5d41402abc4b2a76b9719d911017c592"

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func clientPreface() wire.Preface {
	return wire.Preface{Version: 1, Lowest: 1, Nonce: [32]byte(run(0x00, 32)), Program: "larder-go/1.0"}
}

func serverPreface() wire.Preface {
	return wire.Preface{
		Version: 1, Lowest: 1, Nonce: [32]byte(run(0x80, 32)), Program: "larder/1.0",
		Streams: wire.MaxStreams, ConnectionCredit: wire.ConnectionCredit, StreamCredit: wire.StreamCredit,
	}
}

func fullPreface() wire.Preface {
	p := serverPreface()
	p.Bound, p.Refusal = true, "No version in common."
	return p
}

func login() wire.LoginMessage {
	return wire.LoginMessage{KeyID: "AKEXAMPLE", Date: "20260102", Proof: run(0x20, 32)}
}

func fullWelcome() wire.WelcomeMessage {
	return wire.WelcomeMessage{Code: fault.ClockSkew, Proof: run(0x40, 32), Caller: "backup", Hint: "Set the clock."}
}

func trailer() wire.Trailer {
	return wire.Trailer{Length: 300, CRC: 0xe3069283, HasCRC: true}
}

func farewell() wire.Farewell {
	return wire.Farewell{Code: fault.Unavailable, Last: 7, Hint: "The server stops."}
}

func fullEvent() wire.Event {
	return wire.Event{Sequence: 300, Key: "a", Kind: wire.Removed, Gap: true}
}

func headerValues() wire.Headers {
	return wire.Headers{
		ContentType: "image/jpeg", CacheControl: "no-cache", ContentDisposition: "inline",
		ContentEncoding: "gzip", ContentLanguage: "fr", Expires: "Thu, 01 Jan 2026 00:00:00 GMT",
	}
}

func meta() wire.Meta {
	return wire.Meta{
		Headers: headerValues(),
		User:    map[string]string{"camera": "X100", "place": ""},
		Tags:    map[string]string{"kind": "holiday", "été": "oui"},
	}
}

func sum() wire.Checksum { return wire.Checksum{Algorithm: 2, Type: 2, Value: run(0xf0, 4)} }

// object is one as Head answers it.
func object() wire.Object {
	return wire.Object{
		Size: 12, ETag: etag, Modified: noon(), Sequence: 300, Checksum: sum(), PartSizes: []int64{5, 7}, Meta: meta(),
	}
}

func fullObject() wire.Object {
	o := object()
	o.Key = "2026/été.jpg"
	return o
}

func buckets() []wire.Bucket {
	return []wire.Bucket{
		{Name: "photos", Created: noon(), Objects: 3, Bytes: 1 << 40},
		{Name: "empty", Created: noon().Add(time.Nanosecond)},
	}
}

// page has an entry that is longer than one byte of length can say.
func page() wire.Page {
	return wire.Page{
		Objects:  []wire.Object{fullObject(), {Key: "b", Size: 0, ETag: etag, Modified: noon(), Sequence: 301}},
		Prefixes: []string{"2025/", "2026/"}, Next: "b",
	}
}

func results() []wire.Result {
	return []wire.Result{{}, {Code: fault.Denied, Hint: "This key may not delete."}}
}

func part(number int) wire.Part {
	return wire.Part{Number: number, Size: 5 << 20, ETag: etag, Modified: noon(), Checksum: sum()}
}

func partPage() wire.PartPage {
	return wire.PartPage{Parts: []wire.Part{part(1), part(10_000)}, Next: 10_000}
}

func uploadPage() wire.UploadPage {
	return wire.UploadPage{
		Uploads: []wire.Upload{{Key: "a", ID: "upload-1", Started: noon()}, {Key: "a", ID: "upload-2", Started: noon()}},
		NextKey: "a", NextUpload: "upload-2",
	}
}

func info() wire.ServerInfo {
	return wire.ServerInfo{Version: "1.0", Store: "00112233445566778899aabbccddeeff", Uptime: time.Hour, ReadOnly: true}
}

// namedRequest is a request and the name of its golden file.
type namedRequest struct {
	name string
	wire.Request
}

// requests are of every operation, with every field that it takes. A suffix is
// one form of a range and excludes the other, so there are two of those.
func requests() []namedRequest {
	list := append(bucketRequests(), objectRequests()...)
	list = append(list, uploadRequests()...)
	for i := range list {
		if list[i].name == "" {
			list[i].name = strings.ToLower(list[i].Op.String())
		}
		if !list[i].Op.HasBody() {
			list[i].Size = -1
		}
	}
	return list
}

func bucketRequests() (list []namedRequest) {
	for _, r := range []wire.Request{
		{Op: wire.OpInfo},
		{Op: wire.OpListBuckets},
		{Op: wire.OpCreateBucket, Bucket: "photos"},
		{Op: wire.OpHeadBucket, Bucket: "photos"},
		{Op: wire.OpDeleteBucket, Bucket: "photos"},
		{Op: wire.OpList, Bucket: "photos", Prefix: "2026/", Delimiter: "/", After: "2026/a", Max: 1000},
		{Op: wire.OpWatch, Bucket: "photos", Prefix: "2026/", From: 300},
		{Op: wire.OpListUploads, Bucket: "photos", Prefix: "2026/", After: "2026/a", AfterUpload: "upload-1", Max: 10},
	} {
		list = append(list, namedRequest{Request: r})
	}
	return list
}

func on(op wire.Op) wire.Request {
	return wire.Request{Op: op, Bucket: "photos", Key: "2026/été.jpg"}
}

func objectRequests() []namedRequest {
	put, get, suffix, head := on(wire.OpPut), on(wire.OpGet), on(wire.OpGet), on(wire.OpHead)
	put.Meta, put.IfMatch, put.IfAbsent = meta(), []string{etag}, true
	put.SkipMD5, put.SkipSHA256, put.Size = true, true, 12
	get.IfMatch, get.IfNoneMatch = []string{etag, "*"}, []string{etag, "x"}
	get.ModifiedSince, get.UnmodifiedSince = noon(), noon().Add(time.Hour)
	get.Range = wire.Range{Form: wire.Span, Offset: 65536, Length: 100}
	suffix.IfMatch, suffix.Range = []string{etag}, wire.Range{Form: wire.Suffix, Length: 100}
	head.IfMatch, head.IfNoneMatch = get.IfMatch, get.IfNoneMatch
	head.ModifiedSince, head.UnmodifiedSince = get.ModifiedSince, get.UnmodifiedSince
	remove, many, duplicate := on(wire.OpDelete), on(wire.OpDeleteMany), on(wire.OpCopy)
	remove.IfMatch = []string{etag}
	many.Key, many.Deletes = "", []wire.DeleteEntry{{Key: "a"}, {Key: "b", IfMatch: etag}}
	duplicate.Source = wire.Source{Bucket: "old", Key: "a", ETag: etag}
	duplicate.IfMatch, duplicate.IfAbsent = []string{"*"}, true
	duplicate.ReplaceMeta, duplicate.ReplaceTags, duplicate.Meta = true, true, meta()
	return []namedRequest{
		{Request: put}, {Request: get}, {"get-suffix", suffix}, {Request: head},
		{Request: remove}, {Request: many}, {Request: duplicate},
	}
}

func uploadRequests() []namedRequest {
	create, put, take, suffix := on(wire.OpCreateUpload), on(wire.OpPutPart), on(wire.OpCopyPart), on(wire.OpCopyPart)
	create.Meta, create.Algorithm = meta(), 2
	put.Upload, put.Part, put.SkipMD5, put.SkipSHA256, put.Size = "upload-1", 10_000, true, true, 5<<20
	take.Upload, take.Part, take.Source = "upload-1", 2, wire.Source{Bucket: "old", Key: "a", ETag: etag}
	take.Range = wire.Range{Form: wire.Span, Length: 5 << 20}
	suffix.Upload, suffix.Part, suffix.Source = take.Upload, take.Part, take.Source
	suffix.Range = wire.Range{Form: wire.Suffix, Length: 5 << 20}
	complete, abort, parts := on(wire.OpCompleteUpload), on(wire.OpAbortUpload), on(wire.OpListParts)
	complete.Upload, complete.IfMatch, complete.IfAbsent = "upload-1", []string{etag}, true
	complete.Parts = []wire.CompletePart{{Number: 1, ETag: etag}, {Number: 10_000, ETag: etag}}
	abort.Upload = "upload-1"
	parts.Upload, parts.AfterPart, parts.Max = "upload-1", 100, 1000
	return []namedRequest{
		{Request: create}, {Request: put}, {Request: take}, {"copypart-suffix", suffix},
		{Request: complete}, {Request: abort}, {Request: parts},
	}
}
