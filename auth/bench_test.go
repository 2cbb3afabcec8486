package auth_test

import (
	"context"
	"testing"

	"larder/auth"
)

// BenchmarkBearerCached is the cost of a request with a secret that bcrypt has
// seen within the last minutes: to stay under 2 µs.
func BenchmarkBearerCached(b *testing.B) {
	f := open(b)
	k, secret := f.key(b)
	ctx, from := context.Background(), addr(1)
	if _, err := f.Bearer(ctx, k.ID, secret, from); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := f.Bearer(ctx, k.ID, secret, from); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSignatureCached(b *testing.B) {
	f := open(b)
	k, secret := f.key(b)
	ctx, from, req := context.Background(), addr(1), sign(k.ID, secret, "GET /bucket/key and its headers")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := f.VerifySignature(ctx, req, from); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGuard(b *testing.B) {
	f := open(b)
	k, secret := f.key(b, auth.Grant{Bucket: "backups", Prefix: "nas/", Rights: auth.ReadWrite})
	ctx := context.Background()
	c, err := f.Bearer(ctx, k.ID, secret, addr(1))
	if err != nil {
		b.Fatal(err)
	}
	g, res := f.Guard(), auth.Resource{Bucket: "backups", Key: "nas/data/00/0011"}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(ctx, c, auth.PutObject, res); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakeRequest(b *testing.B) {
	l, from := auth.NewLimiter(16), addr(1)
	l.Vouch(from, "k")
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Take(from, auth.CostRequest); err != nil {
			b.Fatal(err)
		}
	}
}
