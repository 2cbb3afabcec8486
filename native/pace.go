package native

import "time"

// pace is how long the server waits for a peer.
type pace struct {
	login time.Duration // from the first byte to the welcome
	idle  time.Duration // for the next frame
	piece time.Duration // for each pieceBytes of a frame, or of a body that is owed
}

// pieceBytes in pace.piece is the slowest transfer that is let be.
const pieceBytes = 64 << 10

func defaultPace() pace {
	return pace{login: 5 * time.Second, idle: 10 * time.Minute, piece: time.Minute}
}

// allow is how long n bytes may take.
func (p pace) allow(n int64) time.Duration { return p.piece * time.Duration(1+n/pieceBytes) }
