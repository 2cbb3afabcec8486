package web

import (
	"strings"

	"larder/auth"
	"larder/web/view"
)

// settings is what the ready-to-paste pieces are made of.
type settings struct {
	endpoint, keyID, secret string
	grants                  []auth.Grant
	fingerprint             string // of Larder's own certificate, "" = none
}

// bucket is the bucket that the key is for, or a word to replace.
func (s settings) bucket() string {
	for _, g := range s.grants {
		if !strings.Contains(g.Bucket, "*") && g.Bucket != "" {
			return g.Bucket
		}
	}
	return "BUCKET"
}

// path is bucket and prefix, without a slash at the end.
func (s settings) path() string {
	prefix := ""
	if len(s.grants) > 0 {
		prefix = strings.Trim(s.grants[0].Prefix, "/")
	}
	if prefix == "" {
		return s.bucket()
	}
	return s.bucket() + "/" + prefix
}

// note says what is left to do by hand.
func (s settings) note(certificate string) string {
	var notes []string
	if s.bucket() == "BUCKET" {
		notes = append(notes, "Put the name of your bucket in the place of BUCKET.")
	}
	if strings.HasPrefix(s.endpoint, "https://") && s.fingerprint != "" {
		notes = append(notes, certificate)
	}
	return strings.Join(notes, " ")
}

// snippets are the settings for the programs that people use most.
func snippets(s settings) []view.Snippet {
	return []view.Snippet{s.restic(), s.rclone(), s.awsCLI(), s.other()}
}

func (s settings) restic() view.Snippet {
	return view.Snippet{
		Program: "restic",
		Parts: []view.SnippetPart{
			{Title: "Once in the shell, or in the file that starts your backup", Code: "export AWS_ACCESS_KEY_ID=" + shell(s.keyID) + "\n" +
				"export AWS_SECRET_ACCESS_KEY=" + shell(s.secret) + "\n" +
				"export RESTIC_REPOSITORY=" + shell("s3:"+s.endpoint+"/"+s.path())},
			{Title: "The first backup", Code: "restic init\nrestic backup ~/Documents\nrestic snapshots"},
		},
		Note: s.note("If the certificate is Larder's own, give restic the file with --cacert."),
	}
}

func (s settings) rclone() view.Snippet {
	return view.Snippet{
		Program: "rclone",
		Parts: []view.SnippetPart{
			{Title: "In ~/.config/rclone/rclone.conf", Code: "[larder]\ntype = s3\nprovider = Other\naccess_key_id = " + s.keyID + "\n" +
				"secret_access_key = " + s.secret + "\nendpoint = " + s.endpoint},
			{Title: "Copy a folder", Code: "rclone copy --progress ~/Pictures " + shell("larder:"+s.path()) + "\nrclone ls " + shell("larder:"+s.path())},
		},
		Note: s.note("If the certificate is Larder's own, give rclone the file with --ca-cert."),
	}
}

func (s settings) awsCLI() view.Snippet {
	return view.Snippet{
		Program: "aws cli",
		Parts: []view.SnippetPart{
			{Title: "Once in the shell", Code: "export AWS_ACCESS_KEY_ID=" + shell(s.keyID) + "\nexport AWS_SECRET_ACCESS_KEY=" + shell(s.secret) + "\n" +
				"export AWS_DEFAULT_REGION=us-east-1"},
			{Title: "Copy a folder", Code: "aws --endpoint-url " + shell(s.endpoint) + " s3 cp --recursive ~/Pictures " + shell("s3://"+s.path()+"/") + "\n" +
				"aws --endpoint-url " + shell(s.endpoint) + " s3 ls " + shell("s3://"+s.path()+"/")},
		},
		Note: s.note("If the certificate is Larder's own, give the aws cli the file with --ca-bundle."),
	}
}

func (s settings) other() view.Snippet {
	return view.Snippet{
		Program: "Others",
		Parts: []view.SnippetPart{{Title: "What any S3 program asks for", Code: "Endpoint:          " + s.endpoint + "\nRegion:            us-east-1\n" +
			"Access key id:     " + s.keyID + "\nSecret access key: " + s.secret + "\nBucket:            " + s.bucket() + "\nAddressing:        path style"}},
		Note: s.note(""),
	}
}

// shell quotes a word for sh where it needs it.
func shell(s string) string {
	plain := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r))
	}
	if s != "" && strings.IndexFunc(s, plain) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
