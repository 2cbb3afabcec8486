package store_test

import (
	"math/rand/v2"

	"larder/store/vfs"
)

// simChoice says what of a cut's unsynced pieces the disk keeps.
type simChoice struct {
	kind    string
	keep    func(piece int) bool
	garbage bool
}

// simUnit is how much the disk writes at once.
type simUnit int64

// groups gives each piece the number of the group that it is kept or lost with:
// sectors of one unit of a file together, all else by itself.
func (u simUnit) groups(pieces []vfs.Piece) (group []int, n int) {
	type place struct {
		name string
		unit int64
	}
	known := map[place]int{}
	group = make([]int, len(pieces))
	for i, p := range pieces {
		at := place{p.Name, p.Offset / int64(u)}
		if k, ok := known[at]; ok && p.Kind == vfs.PieceBytes && u > 512 {
			group[i] = k
			continue
		}
		group[i] = n
		if p.Kind == vfs.PieceBytes {
			known[at] = n
		}
		n++
	}
	return group, n
}

// simChoices lists what a disk may keep, in a fixed order: nothing, everything,
// each piece missing, each alone, every prefix, sizes without bytes, and mixes.
func simChoices(pieces []vfs.Piece, rng *rand.Rand, mixes int) []simChoice {
	none, all := func(int) bool { return false }, func(int) bool { return true }
	out := []simChoice{{kind: "nothing", keep: none}}
	if len(pieces) == 0 {
		return out
	}
	out = append(out, simChoice{kind: "everything", keep: all})
	for _, unit := range []simUnit{512, 4096} {
		group, n := unit.groups(pieces)
		for g := range n {
			out = append(out,
				simChoice{kind: "one missing", keep: func(i int) bool { return group[i] != g }},
				simChoice{kind: "one alone", keep: func(i int) bool { return group[i] == g }},
				simChoice{kind: "prefix", keep: func(i int) bool { return group[i] < g }})
		}
		for range mixes {
			ratio, kept := rng.Float64(), make([]bool, n)
			for g := range kept {
				kept[g] = rng.Float64() < ratio
			}
			out = append(out, simChoice{kind: "mix", keep: func(i int) bool { return kept[group[i]] }, garbage: rng.IntN(4) == 0})
		}
	}
	noBytes := func(i int) bool { return pieces[i].Kind != vfs.PieceBytes }
	noNames := func(i int) bool { return pieces[i].Kind != vfs.PieceNames }
	backwards := func(from int) func(int) bool { return func(i int) bool { return i >= from } }
	out = append(out,
		simChoice{kind: "length without data", keep: noBytes},
		simChoice{kind: "length without data", keep: noBytes, garbage: true},
		simChoice{kind: "data without names", keep: noNames})
	for i := 1; i < len(pieces); i++ {
		out = append(out, simChoice{kind: "suffix", keep: backwards(i)})
	}
	return out
}

// simCase is one way in which a cut may end.
type simCase struct {
	simChoice
	seed  uint64 // of garbage
	index *simTables
}

// cases lists how a cut may end, in a fixed order.
func (c *simCut) cases(dice *rand.Rand, mixes int) (out []simCase) {
	for _, choice := range simChoices(c.disk.Pieces(), dice, mixes) {
		seed := dice.Uint64()
		for _, tables := range simIndexes(c.index, dice) {
			out = append(out, simCase{choice, seed, tables})
		}
	}
	return out
}

// state makes what is left.
func (c *simCut) state(cs simCase, segment int64) *simState {
	var garbage *rand.Rand
	if cs.garbage {
		garbage = rand.New(rand.NewPCG(cs.seed, 0))
	}
	if c.allowed == nil {
		for _, m := range allowedAfter(c.models, c.flying) {
			c.allowed = append(c.allowed, m.String())
		}
	}
	return &simState{simDisk{c.disk.Crash(cs.keep, garbage), newSimIndex(cs.index), segment}, c.allowed}
}

// noTables is an index that is gone.
var noTables = &simTables{}

// simIndexes picks states of the index: the newest, none, the oldest, and one
// between.
func simIndexes(states []*simTables, dice *rand.Rand) []*simTables {
	out := []*simTables{states[len(states)-1], noTables}
	if len(states) > 1 {
		out = append(out, states[0])
	}
	if len(states) > 2 {
		out = append(out, states[1+dice.IntN(len(states)-2)])
	}
	return out
}
