package web

import (
	"larder/admin"
	"larder/web/view"
)

// The steps at which a filling disk is spoken of. A tenth of a large disk is
// still a lot, so both a share and an amount have to be small.
const (
	lowShare  = 10 // percent free
	lowBytes  = 50 << 30
	lastShare = 2
	lastBytes = 5 << 30
	noneBytes = 256 << 20 // bad whatever the share
)

// health is the worst that is to be said about this Larder, in one line.
func health(sum admin.Summary) view.Health {
	free := view.SizeText(sum.FreeBytes)
	switch {
	case sum.ReadOnly != "":
		return view.Health{
			Kind: view.Bad, Title: "Larder is read-only",
			Text: "Nothing is written since this happened: " + sum.ReadOnly + ". Everything stored can be read. Look at the disk, then restart Larder.",
		}
	case sum.Findings > 0:
		return view.Health{
			Kind: view.Bad, Title: view.Plural(int64(sum.Findings), "piece of data is damaged", "pieces of data are damaged"),
			Text: "The verification found bytes on the disk that are not what was stored. The page System lists what suffers and what heals it. Check the disk.",
		}
	case room(sum) == view.Bad:
		return view.Health{
			Kind: view.Bad, Title: "The disk is almost full",
			Text: "Only " + free + " are free. Uploads will be refused soon; reading and deleting go on. Delete what is not needed or make the disk larger.",
		}
	case room(sum) == view.Warn:
		return view.Health{
			Kind: view.Warn, Title: "The disk is filling up",
			Text: free + " are free. Plan for more room before it runs out.",
		}
	}
	if sum.ScrubBehind {
		return view.Health{
			Kind: view.Warn, Title: "The verification is behind",
			Text: "Not everything stored can be verified within its period at the pace that is allowed. Raise scrub-rate or scrub-period, or look whether it is paused.",
		}
	}
	return view.Health{
		Kind: view.Good, Title: "All is well",
		Text: "Larder takes and gives data, and there is room on the disk.",
	}
}

// room judges the disk alone.
func room(sum admin.Summary) view.Kind {
	switch {
	case sum.FreeBytes < noneBytes || below(sum, lastShare, lastBytes):
		return view.Bad
	case below(sum, lowShare, lowBytes):
		return view.Warn
	}
	return view.Good
}

// barClass colours the bar of the disk.
func barClass(sum admin.Summary) string {
	if k := room(sum); k != view.Good {
		return "bar-" + string(k)
	}
	return ""
}

func below(sum admin.Summary, share, bytes int64) bool {
	return sum.FreeBytes < bytes && sum.FreeBytes*100 < sum.TotalBytes*share
}

// secureNotice tells people that their connection can be read by others, and
// the way to one that cannot.
func (x *exchange) secureNotice() view.Notice {
	link := x.secureURL()
	if link == "" {
		return view.Notice{}
	}
	return view.Notice{
		Kind: view.Info, Title: "This connection is not encrypted",
		Text: "Others in your network could read passwords and secrets. The page System shows the fingerprint of Larder's certificate, to compare when the browser asks.",
		Link: link, Label: "Open this page over https",
	}
}
