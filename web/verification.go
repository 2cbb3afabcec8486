package web

import (
	"fmt"
	"time"

	"larder/admin"
	"larder/auth"
	"larder/fault"
	"larder/store"
	"larder/web/view"
)

// shownSnapshots is how many copies of users and keys the page lists.
const shownSnapshots = 3

// shownDamage is how many findings the page lists; a broken disk has thousands.
const shownDamage = 20

// verification is the state of the scrub for the System page. People who may
// not see it see nothing of it.
func (c *Console) verification(x *exchange) (view.Verification, error) {
	status, err := c.cfg.Admin.ScrubStatus(x.ctx(), x.caller)
	if absent(err) {
		return view.Verification{}, nil
	}
	if err != nil {
		return view.Verification{}, err
	}
	findings, err := c.cfg.Admin.ScrubFindings(x.ctx(), x.caller)
	if err != nil {
		return view.Verification{}, err
	}
	st := admin.StatusOnWire(status)
	v := view.Verification{
		There: true, Facts: scrubFacts(st), Damage: damageOf(admin.FindingsOnWire(findings)), More: st.Overflowed,
		Paused: st.State == paused, Running: st.State == running,
		Manage: c.cfg.Auth.Guard().Allows(x.ctx(), x.caller, auth.ManageScrub, auth.Resource{}),
	}
	if more := len(v.Damage) - shownDamage; more > 0 {
		v.Damage, v.More = v.Damage[:shownDamage], v.More+int64(more)
	}
	v.Kind, v.State = scrubState(st)
	if v.Running {
		v.Done, v.Total = st.Done, st.Total
		v.BarLabel = view.SizeText(st.Done) + " of " + view.SizeText(st.Total) + " verified in this pass"
	}
	return v, nil
}

// The states of the scrub, as admin.ScrubStatus names them.
const (
	idle    = "idle"
	running = "running"
	paused  = "paused"
)

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// absent tells whether this server, or this person, goes without a part.
func absent(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.Denied || code == fault.Unavailable
}

// scrubState is the badge: the worst comes first.
func scrubState(st admin.ScrubStatus) (view.Kind, string) {
	switch {
	case st.Open > 0:
		return view.Bad, view.Plural(int64(st.Open), "open finding", "open findings")
	case st.Error != "":
		return view.Warn, "Cannot go on"
	case st.State == paused:
		return view.Warn, "Paused"
	case st.Behind:
		return view.Warn, "Behind its time"
	case st.State == running:
		return view.Info, "Verifying"
	}
	if st.Last == nil || !st.Last.Complete {
		return view.Info, "No whole pass yet"
	}
	return view.Good, "Nothing damaged"
}

func scrubFacts(st admin.ScrubStatus) []view.Fact {
	last := view.Fact{Term: "Last whole pass", Value: "none yet"}
	facts := []view.Fact{last}
	if st.Last != nil && st.Last.Complete {
		facts[0].Time = timeOf(st.Last.Ended)
		facts = append(facts, view.Fact{Term: "It verified", Value: view.SizeText(st.Last.Bytes) + " in " + view.Plural(st.Last.Records, "record", "records") + " and " + view.Plural(st.Last.Blobs, "large body", "large bodies")})
	}
	switch st.State {
	case running:
		facts = append(facts, view.Fact{Term: "Pace", Value: "at most " + view.SizeText(st.Rate) + " a second"})
		if st.Left > 0 {
			facts = append(facts, view.Fact{Term: "Time left", Value: "about " + view.Span(time.Duration(st.Left)*time.Second)})
		}
	case idle:
		if st.Next != nil {
			facts = append(facts, view.Fact{Term: "Next pass", Value: view.Exact(*st.Next)})
		}
	}
	if st.Error != "" {
		facts = append(facts, view.Fact{Term: "Stopped by", Value: st.Error})
	}
	return facts
}

func damageOf(findings []admin.ScrubFinding) []view.Damage {
	out := make([]view.Damage, len(findings))
	for i, f := range findings {
		out[i] = view.Damage{
			Open: f.Open, What: sufferer(f), Place: damagePlace(f), Reason: f.Reason,
			Found: timeOf(f.Found), How: f.How, Consequences: consequences(f),
		}
		if f.Kind == string(store.HarmObject) && f.Key != "" {
			out[i].Link = place{bucket: f.Bucket, key: f.Key}.link("/objects/show")
		}
	}
	return out
}

func sufferer(f admin.ScrubFinding) string {
	switch {
	case f.Key != "":
		return f.Bucket + "/" + f.Key
	case f.Bucket != "":
		return f.Bucket
	case f.Kind == string(store.HarmGarbage):
		return "nothing that is in use"
	}
	return "the index"
}

func damagePlace(f admin.ScrubFinding) string {
	if f.Offset < 0 {
		return f.File
	}
	return fmt.Sprintf("%s at byte %d", f.File, f.Offset)
}

// consequences says what a finding means for people, and what heals it.
func consequences(f admin.ScrubFinding) string {
	switch {
	case !f.Open:
		return "Healed: " + f.How
	case f.Kind == string(store.HarmGarbage):
		return "No object needs these bytes. A rebuild of the index would stop here until they are gone."
	case f.Kind == string(store.HarmIndex):
		return "The index is made again from the journal at the next start. Nothing stored is lost by it."
	}
	return "Reading it fails rather than giving wrong bytes. Store the object again, or delete it; then this is healed. Check the disk."
}

// changeScrub starts, pauses or resumes the verification.
func (c *Console) changeScrub(x *exchange) error {
	var err error
	said := ""
	switch x.form("act") {
	case "start":
		said, err = "The verification has begun.", c.cfg.Admin.StartScrub(x.ctx(), x.caller)
	case "pause":
		said, err = "The verification is paused until you resume it.", c.cfg.Admin.PauseScrub(x.ctx(), x.caller)
	case "resume":
		said, err = "The verification goes on.", c.cfg.Admin.ResumeScrub(x.ctx(), x.caller)
	default:
		err = fault.New("web.changeScrub", fault.InvalidArgument, "", nil)
	}
	if err != nil {
		return err
	}
	return x.done("/system", view.Good, said)
}

// snapshots are the newest copies of users and keys.
func (c *Console) snapshots(x *exchange) (view.Snapshots, error) {
	list, err := c.cfg.Admin.Snapshots(x.ctx(), x.caller)
	if absent(err) {
		return view.Snapshots{}, nil
	}
	if err != nil {
		return view.Snapshots{}, err
	}
	out := view.Snapshots{There: true, Count: len(list)}
	for i, s := range list[:min(len(list), shownSnapshots)] {
		term := "Before that"
		if i == 0 {
			term = "Newest"
		}
		out.List = append(out.List, view.Fact{Term: term, Time: s.Time})
	}
	return out, nil
}
