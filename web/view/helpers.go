package view

import (
	"strconv"
	"strings"

	"larder/web/assets"
)

func assetPath(name string) string { return assets.Path(name) }

func iconPath(name string) string { return assets.Path("icons.svg") + "#" + name }

func pressed(on bool) string { return strconv.FormatBool(on) }

// flashRole makes a screen reader say a problem at once and a success when it
// is done speaking.
func flashRole(k Kind) string {
	if k == Bad {
		return "alert"
	}
	return "status"
}

// percent is part of whole in the range 0 to 100, as an SVG length. A part
// that is there is never drawn as nothing.
func percent(part, whole int64) string {
	if whole <= 0 || part <= 0 {
		return "0%"
	}
	return strconv.FormatFloat(min(100, max(1, float64(part)*100/float64(whole))), 'f', 1, 64) + "%"
}

// fileIcon chooses a drawing by a key's ending.
func fileIcon(key string) string {
	dot := strings.LastIndexByte(key, '.')
	if dot < 0 {
		return "file"
	}
	switch strings.ToLower(key[dot+1:]) {
	case "jpg", "jpeg", "png", "gif", "webp", "heic", "avif", "svg", "tif", "tiff", "raw", "dng":
		return "image"
	case "mp4", "mkv", "mov", "avi", "webm", "m4v":
		return "film"
	case "mp3", "flac", "ogg", "opus", "m4a", "wav", "aac":
		return "music"
	case "zip", "tar", "gz", "tgz", "xz", "zst", "bz2", "7z", "rar", "iso", "img":
		return "archive"
	case "txt", "md", "pdf", "doc", "docx", "odt", "csv", "json", "xml", "yaml", "yml", "log", "html":
		return "text"
	}
	return "file"
}

// noun is the right form for a count that is written before it.
func noun(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func tabClass(part string, i int) string { return part + "-" + strconv.Itoa(i+1) }

func snippetID(i, j int) string { return "code-" + strconv.Itoa(i) + "-" + strconv.Itoa(j) }
