package bench

import (
	"context"
	"fmt"
	"slices"
)

// gateway reads large objects by many clients, as browsers and gateways do: signed,
// by a link that was made before, and by a link that is made for each request.
func (b *bench) gateway(ctx context.Context) error {
	var cells []Cell
	clients := b.concurrency(10, 50)
	sizes := b.sizes(mib, 16*mib, 128*mib)
	if err := b.needRoom(2 * (readBytes + slices.Max(sizes))); err != nil {
		return err
	}
	for _, size := range sizes {
		err := b.onStage(ctx, slices.Max(clients), func(s *stage) error {
			g := gatewayCell{size: size, objects: b.objects(maxRead, readBytes, size)}
			if err := s.fill(ctx, g.objects, readKey, noise(size, size)); err != nil {
				return err
			}
			for _, n := range clients {
				b.say("gateway: %s, %d clients", sizeName(size), n)
				var contenders []contender
				for _, l := range s.readers() {
					some, err := g.contenders(l, n)
					if err != nil {
						return err
					}
					contenders = append(contenders, some...)
				}
				figures, err := b.measure(ctx, contenders)
				if err != nil {
					return err
				}
				cells = append(cells, Cell{Part: "gateway", Op: "get", Size: size, Concurrency: n, Contenders: figures})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return b.finish("gateway", cells)
}

// gatewayCell makes the contenders of one size.
type gatewayCell struct {
	size    int64
	objects int
}

// contenders are the ways in which one kind of client can be let in.
func (g gatewayCell) contenders(l lane, clients int) ([]contender, error) {
	out := []contender{g.contender(l, l.name+" signed", clients, func(ctx context.Context, key string, _ int) (gotten, error) {
		return l.target.Get(ctx, l.bucket, key, "", nil)
	})}
	p, ok := l.target.(presigner)
	if !ok {
		return out, nil
	}
	links := make([]string, g.objects)
	for i := range links {
		var err error
		if links[i], err = p.Presign(l.bucket, readKey(i)); err != nil {
			return nil, err
		}
	}
	return append(out,
		g.contender(l, l.name+" presigned", clients, func(ctx context.Context, _ string, i int) (gotten, error) {
			return p.GetLink(ctx, links[i])
		}),
		g.contender(l, l.name+" presigned anew", clients, func(ctx context.Context, key string, _ int) (gotten, error) {
			link, err := p.Presign(l.bucket, key)
			if err != nil {
				return gotten{}, err
			}
			return p.GetLink(ctx, link)
		})), nil
}

func (g gatewayCell) contender(l lane, name string, clients int, get func(context.Context, string, int) (gotten, error)) contender {
	limit, byBytes := readLimit(g.size, clients)
	return contender{name: name, child: l.child, workers: clients, limit: limit, byBytes: byBytes,
		op: func(ctx context.Context, t turn) (outcome, error) {
			i := (t.n*7919 + t.round) % g.objects
			got, err := get(ctx, readKey(i), i)
			if err == nil && got.size != g.size {
				err = wrongSize(got.size, g.size)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return outcome{bytes: got.size, firstByte: got.firstByte}, err
		}}
}
