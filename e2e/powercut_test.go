package e2e_test

import (
	"testing"
	"time"
)

const powerCuts = 5

// TestPowerCut takes the power away while 16 clients write: the file system
// loses everything that was not synced. What was acknowledged has to be there.
func TestPowerCut(t *testing.T) {
	d := newDisk(t, 2<<30)
	s := serve(t, setup{dir: d.data()})
	c, book, choose := s.client(), newLedger(), random("power cuts")
	c.must(200, "PUT", "/"+crashBucket, nil)
	for round := range powerCuts {
		crowd := startCrowd(c, book, round, true)
		crowd.awaitAcks(t)
		pause := time.Duration(5+choose.IntN(800)) * time.Millisecond
		time.Sleep(pause) // the random moment is the test
		d.cutPower()
		crowd.wait()
		s.kill()
		d.powerBack()
		took := s.restart()
		t.Logf("round %d: power cut after %s with %d acknowledged, ready again in %.0f ms", round, pause, crowd.acks.Load(), took.Seconds()*1000)
		verify(t, c, book)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d keys written to, %d objects stand, all as acknowledged", len(book.names()), len(book.standing()))
}
