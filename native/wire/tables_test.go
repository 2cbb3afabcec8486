package wire_test

import (
	"math"

	"larder/native/wire"
)

func prefaceGrammar() grammar {
	return grammar{
		byts("1", "nonce").needed(), txt("2", "program"), flg("3", "bound to TLS"),
		num("4", "requests in flight", math.MaxInt32),
		num("6", "credit of the connection", math.MaxInt32), num("8", "credit of a stream", math.MaxInt32),
		txt("10", "hint"),
	}
}

func loginGrammar() grammar {
	return grammar{txt("1", "key id").needed(), txt("3", "date").needed(), byts("5", "proof").needed()}
}

func welcomeGrammar() grammar {
	return grammar{byts("1", "proof"), txt("2", "caller"), txt("4", "hint")}
}

func trailerGrammar() grammar { return grammar{size("2", "length").needed(), byts("4", "CRC32C")} }

func farewellGrammar() grammar { return grammar{txt("2", "hint")} }

func refusalGrammar() grammar { return grammar{txt("4", "hint")} }

func eventGrammar() grammar {
	return grammar{txt("3", "key"), num("60", "sequence", math.MaxUint64), num("62", "kind", 255), flg("70", "gap")}
}

func checksumGrammar(at string) grammar {
	return grammar{
		msg(at+"24", "checksum"),
		num(at+"24.2", "algorithm", 255), num(at+"24.4", "type", 255), byts(at+"24.6", "value").needed(),
	}
}

func objectGrammar(at string) grammar {
	return append(grammar{
		txt(at+"3", "key"), size(at+"10", "size"), txt(at+"12", "ETag"), when(at+"14", "modified"),
		num(at+"22", "sequence", math.MaxUint64), size(at+"26", "size of a part").times(10_000),
		pairs(at+"34", "user"), pairs(at+"36", "tag"), headers(at+"38", "header"),
	}, checksumGrammar(at)...)
}

func partGrammar(at string) grammar {
	return append(grammar{
		num(at+"7", "part", 10_000), size(at+"10", "size"), txt(at+"12", "ETag"), when(at+"14", "modified"),
	}, checksumGrammar(at)...)
}

func bucketsGrammar() grammar {
	return grammar{
		msg("16", "bucket").times(100_000),
		txt("16.2", "name"), when("16.14", "created"), size("16.18", "objects"), size("16.20", "bytes"),
	}
}

func pageGrammar() grammar {
	g := grammar{
		msg("42", "object").times(10_000), txt("44", "common prefix").times(10_000), txt("46", "next"),
	}
	return append(g, objectGrammar("42.")...)
}

func resultsGrammar() grammar {
	return grammar{msg("40", "result").times(1000), num("40.2", "code", math.MaxUint16), txt("40.4", "hint")}
}

func partPageGrammar() grammar {
	return append(grammar{msg("56", "part").times(10_000), num("58", "next", 10_000)}, partGrammar("56.")...)
}

func uploadPageGrammar() grammar {
	return grammar{
		msg("52", "upload").times(10_000), txt("52.3", "key"), txt("52.50", "id"), when("52.14", "started"),
		txt("46", "next key"), txt("54", "next upload"),
	}
}

func infoGrammar() grammar {
	return grammar{
		txt("2", "version"), txt("4", "store"), num("6", "seconds", math.MaxInt32), flg("8", "read-only"),
	}
}

// requestGrammar is what a request of one operation may hold.
func requestGrammar(op wire.Op) grammar {
	bucket, key, upload := txt("1", "bucket").needed(), txt("3", "key").needed(), txt("5", "upload").needed()
	part := num("7", "part", 10_000).needed()
	source := grammar{txt("9", "source bucket").needed(), txt("11", "source key").needed(), txt("13", "source ETag")}
	span := grammar{size("17", "offset"), size("19", "length"), size("23", "suffix")}
	condition := grammar{txt("21", "if-match"), flg("27", "if-absent")}
	reading := grammar{
		txt("21", "if-match").times(64), txt("29", "if-none-match").times(64),
		when("31", "modified since"), when("33", "unmodified since"),
	}
	meta := grammar{pairs("35", "user"), pairs("37", "tag"), headers("39", "header")}
	options := grammar{flg("64", "no MD5"), flg("66", "no SHA-256"), size("68", "size")}
	prefix, after, most := txt("43", "prefix"), txt("47", "after"), num("49", "at most", math.MaxInt32)
	object := grammar{bucket, key}
	switch op {
	case wire.OpCreateBucket, wire.OpHeadBucket, wire.OpDeleteBucket:
		return grammar{bucket}
	case wire.OpPut:
		return concat(object, meta, condition, options)
	case wire.OpGet:
		return concat(object, reading, span)
	case wire.OpHead:
		return concat(object, reading)
	case wire.OpDelete:
		return concat(object, grammar{txt("21", "if-match")})
	case wire.OpDeleteMany:
		return grammar{
			bucket, msg("41", "delete").times(1000).needed(), txt("41.3", "key").needed(), txt("41.21", "if-match"),
		}
	case wire.OpList:
		return grammar{bucket, prefix, txt("45", "delimiter"), after, most}
	case wire.OpCopy:
		return concat(object, source, condition, meta, grammar{flg("51", "new metadata"), flg("53", "new tags")})
	case wire.OpCreateUpload:
		return concat(object, meta, grammar{num("25", "algorithm", 255)})
	case wire.OpPutPart:
		return concat(object, grammar{upload, part}, options)
	case wire.OpCopyPart:
		return concat(object, grammar{upload, part}, source, span)
	case wire.OpCompleteUpload:
		return concat(object, condition, grammar{
			upload, msg("55", "part").times(10_000).needed(), num("55.7", "number", 10_000).needed(), txt("55.12", "ETag"),
		})
	case wire.OpAbortUpload:
		return concat(object, grammar{upload})
	case wire.OpListUploads:
		return grammar{bucket, prefix, after, txt("57", "after upload"), most}
	case wire.OpListParts:
		return concat(object, grammar{upload, num("59", "after part", math.MaxInt32), most})
	case wire.OpWatch:
		return grammar{bucket, prefix, num("61", "from", math.MaxUint64)}
	}
	return grammar{} // Info, ListBuckets
}

func concat(parts ...grammar) (g grammar) {
	for _, p := range parts {
		g = append(g, p...)
	}
	return g
}
