package wire_test

import (
	"bytes"
	"strings"
	"testing"

	"larder/native/wire"
)

// TestBytesByHand compares with bytes that were written here one by one from
// docs/native.md, so that the golden files are not the encoder's word alone.
func TestBytesByHand(t *testing.T) {
	t.Parallel()
	for _, c := range byHand() {
		if want := strings.Join(c.want, ""); !bytes.Equal(c.got, []byte(want)) {
			t.Errorf("%s:\n%x, want\n%x", c.name, c.got, want)
		}
	}
}

type handwritten struct {
	name string
	got  []byte
	want []string
}

func byHand() []handwritten {
	nonce := [32]byte{0: 'N', 31: 'E'}
	nonceText := "N" + strings.Repeat("\x00", 30) + "E"
	client := wire.Preface{Version: 1, Lowest: 1, Nonce: nonce, Program: "cli", Bound: true}
	server := wire.Preface{Version: 1, Lowest: 1, Nonce: nonce, Streams: 128, ConnectionCredit: 8 << 20, StreamCredit: 1 << 20}
	get := wire.Request{Op: wire.OpGet, Bucket: "b", Key: "k", IfNoneMatch: []string{"x", "*"}, Size: -1}
	get.Range, get.ModifiedSince = wire.Range{Form: wire.Span, Offset: 300, Length: 1}, noon()
	put := wire.Request{Op: wire.OpPut, Bucket: "b", Key: "k", IfAbsent: true, Size: 0}
	put.Meta.ContentType, put.Meta.User = "t", map[string]string{"m": "v", "a": ""}
	many := wire.Request{Op: wire.OpDeleteMany, Bucket: "b", Deletes: []wire.DeleteEntry{{Key: "x", IfMatch: "e"}, {Key: "y"}}}
	return append(framesByHand(), []handwritten{
		{"client's preface", client.Append(nil), []string{
			"LRDR", "\x01", "\x01", "\x00\x29", // 34 + 5 + 2 = 41 bytes
			"\x01\x20", nonceText, "\x02\x03cli", "\x03\x00",
		}},
		{"server's preface", server.Append(nil), []string{
			"LRDR", "\x01", "\x01", "\x00\x31", // 34 + 4 + 6 + 5 = 49 bytes
			"\x01\x20", nonceText, "\x04\x02\x80\x01", "\x06\x04\x80\x80\x80\x04", "\x08\x03\x80\x80\x40",
		}},
		{"Get", get.Append(nil), []string{
			"\x00\x21", "\x01\x01b", "\x03\x01k", "\x11\x02\xac\x02", "\x13\x01\x01", "\x1d\x01x", "\x1d\x01*",
			"\x1f\x08\x18\x86\xe8\x30\xc7\xf0\x80\x00", // 1,767,355,200 s
		}},
		{"Put", put.Append(nil), []string{
			"\x00\x20", "\x01\x01b", "\x03\x01k", "\x1b\x00", "\x23\x02\x01a", "\x23\x03\x01mv",
			"\x27\x0e\x0ccontent-typet", "\x44\x01\x00",
		}},
		{"DeleteMany", many.Append(nil), []string{
			"\x00\x24", "\x01\x01b", "\x29\x06\x03\x01x\x15\x01e", "\x29\x03\x03\x01y",
		}},
	}...)
}

func framesByHand() []handwritten {
	answer, at := wire.BeginAnswer(nil, 0x01020304, true)
	answer = wire.EndFrame(wire.AppendUpload(answer, "id"), at)
	return []handwritten{
		{"header", wire.Header{Type: wire.TypeRequest, Last: true, Stream: 0xa1b2c3d4, Length: 0x00010203}.Append(nil),
			[]string{"\x03", "\x01", "\x00\x00", "\xa1\xb2\xc3\xd4", "\x00\x01\x02\x03"}},
		{"ANSWER", answer, []string{"\x04", "\x01", "\x00\x00", "\x01\x02\x03\x04", "\x00\x00\x00\x06", "\x00\x00", "\x32\x02id"}},
		{"ANSWER, refused", wire.AppendRefusal(nil, 2, 52, "No"), []string{
			"\x04", "\x01", "\x00\x00", "\x00\x00\x00\x02", "\x00\x00\x00\x06", "\x00\x34", "\x04\x02No",
		}},
		{"END", wire.Trailer{Length: 9, CRC: 0xe3069283, HasCRC: true}.Append(nil, 2), []string{
			"\x06", "\x00", "\x00\x00", "\x00\x00\x00\x02", "\x00\x00\x00\x0b", "\x00\x00", "\x02\x01\x09", "\x04\x04\xe3\x06\x92\x83",
		}},
		{"CANCEL", wire.AppendCancel(nil, 2, 74), []string{"\x07", "\x00", "\x00\x00", "\x00\x00\x00\x02", "\x00\x00\x00\x02", "\x00\x4a"}},
		{"CREDIT", wire.AppendCredit(nil, 0, 65536), []string{"\x08", "\x00", "\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x04", "\x00\x01\x00\x00"}},
		{"PONG", wire.AppendPing(nil, wire.TypePong, [8]byte([]byte("pingpong"))), []string{
			"\x0a", "\x00", "\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x08", "pingpong",
		}},
		{"GOAWAY", wire.Farewell{Code: 73, Last: 258, Hint: "Bye"}.Append(nil), []string{
			"\x0b", "\x00", "\x00\x00", "\x00\x00\x00\x00", "\x00\x00\x00\x0b", "\x00\x49", "\x00\x00\x01\x02", "\x02\x03Bye",
		}},
		{"EVENT", wire.Event{Sequence: 300, Key: "k", Kind: wire.Stored}.Append(nil, 2), []string{
			"\x0c", "\x00", "\x00\x00", "\x00\x00\x00\x02", "\x00\x00\x00\x0a", "\x03\x01k", "\x3c\x02\xac\x02", "\x3e\x01\x01",
		}},
	}
}
