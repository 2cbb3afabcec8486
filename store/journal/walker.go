package journal

import (
	"context"
	"fmt"
)

// walker reads the records of one whole segment from front to back. What it
// meets that is not as it was written ends it.
type walker struct {
	*scanner
	order
	c     *Config
	op    string
	seg   segmentHead
	off   int64 // of the next record
	count uint64
}

// walk opens a segment of the roster for reading up to an end. The caller closes
// its file.
func (j *Journal) walk(ctx context.Context, op string, seg segmentHead, end int64) (*walker, error) {
	s, err := j.c.scan(ctx, op, seg.number, j.c.FS.Open)
	if err != nil {
		return nil, err
	}
	s.size = min(s.size, end)
	w := &walker{scanner: s, c: &j.c, op: op, seg: seg, off: seg.start()}
	w.last = seg.first - 1
	w.order.begin(&seg)
	return w, nil
}

// next returns the next record, with header and meta verified, and false at the
// end. The frame is valid until the next call.
func (w *walker) next() (f frame, at int64, ok bool, err error) {
	at = w.off
	if w.off >= w.size {
		return f, at, false, w.ends("")
	}
	f, why, err := w.frame(w.off)
	if err != nil {
		return f, at, false, w.c.unreadable(w.ctx, w.op, w.seg.number, err)
	}
	if why != "" {
		return f, at, false, w.ends(why)
	}
	if why = w.order.check(&f.header, &w.seg); why == "" {
		if err := f.checkKnown(); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		return f, at, false, w.damaged(why)
	}
	w.step(&f.header)
	w.off += f.length()
	w.count++
	return f, at, true, nil
}

// whole verifies the body of the record at an offset.
func (w *walker) whole(at int64, f *frame) error {
	why, err := w.body(at, f)
	if err != nil {
		return w.c.unreadable(w.ctx, w.op, w.seg.number, err)
	}
	if why != "" {
		return w.c.corrupt(w.op, w.seg.number, at, why).WithHint(hintDamaged)
	}
	return nil
}

// ends judges the place where no record begins: why says why not.
func (w *walker) ends(why string) error {
	if why == "" {
		why = w.incomplete()
	} else if !w.seg.compacted {
		empty, err := w.empty(w.off)
		if err != nil {
			return w.c.unreadable(w.ctx, w.op, w.seg.number, err)
		}
		if empty {
			why = w.incomplete()
		}
	}
	if why != "" {
		return w.damaged(why)
	}
	return nil
}

// incomplete tells what is missing at the end of the segment, or nothing.
func (w *walker) incomplete() string {
	switch {
	case w.seg.compacted && (w.count != w.seg.records || w.off != w.seg.length):
		return fmt.Sprintf("it holds %d records in %d bytes, its header says %d in %d", w.count, w.off, w.seg.records, w.seg.length)
	case !w.seg.compacted && !w.seg.growing() && w.last != w.seg.last:
		return fmt.Sprintf("the segment ends with record %d, but the next one begins with record %d", w.last, w.seg.last+1)
	}
	return ""
}

func (w *walker) damaged(why string) error {
	return w.c.corrupt(w.op, w.seg.number, w.off, why).WithHint(hintDamaged)
}
