package admin

import (
	"context"

	"larder/auth"
	"larder/fault"
	"larder/scrubber"
)

// ScrubStatus tells where the verification of all stored bytes stands. Needs
// auth.ReadScrub.
func (s *Service) ScrubStatus(ctx context.Context, c auth.Caller) (scrubber.Status, error) {
	if err := s.guard.Check(ctx, c, auth.ReadScrub, auth.Resource{}); err != nil {
		return scrubber.Status{}, err
	}
	if s.scrubber == nil {
		return scrubber.Status{}, notHere("admin.ScrubStatus")
	}
	return s.scrubber.Status(), nil
}

// ScrubFindings lists damage: what is open, the oldest first, and what healed
// last behind it. Needs auth.ReadScrub.
func (s *Service) ScrubFindings(ctx context.Context, c auth.Caller) ([]scrubber.Finding, error) {
	if err := s.guard.Check(ctx, c, auth.ReadScrub, auth.Resource{}); err != nil {
		return nil, err
	}
	if s.scrubber == nil {
		return nil, notHere("admin.ScrubFindings")
	}
	return s.scrubber.Findings(), nil
}

// StartScrub begins a pass now and does not wait for it; a paused scrubber is
// resumed. Needs auth.ManageScrub.
func (s *Service) StartScrub(ctx context.Context, c auth.Caller) error {
	return s.changeScrub(ctx, c, "StartScrub", (*scrubber.Scrubber).RunNow)
}

// PauseScrub stops reading until ResumeScrub, over restarts too. Needs
// auth.ManageScrub.
func (s *Service) PauseScrub(ctx context.Context, c auth.Caller) error {
	return s.changeScrub(ctx, c, "PauseScrub", (*scrubber.Scrubber).Pause)
}

// ResumeScrub goes on where the scrubber was paused. Needs auth.ManageScrub.
func (s *Service) ResumeScrub(ctx context.Context, c auth.Caller) error {
	return s.changeScrub(ctx, c, "ResumeScrub", (*scrubber.Scrubber).Resume)
}

func (s *Service) changeScrub(ctx context.Context, c auth.Caller, name string, change func(*scrubber.Scrubber) error) error {
	if err := s.guard.Check(ctx, c, auth.ManageScrub, auth.Resource{}); err != nil {
		return err
	}
	if s.scrubber == nil {
		return notHere("admin." + name)
	}
	if err := change(s.scrubber); err != nil {
		return err
	}
	return s.auth.Record(ctx, auth.Event{By: c, Action: name})
}

// Verify runs a whole pass as fast as the disk allows and waits for it. It ends
// early with ctx, or when the server stops. Needs auth.ManageScrub.
func (s *Service) Verify(ctx context.Context, c auth.Caller, progress func(scrubber.Status)) (scrubber.Report, error) {
	if err := s.guard.Check(ctx, c, auth.ManageScrub, auth.Resource{}); err != nil {
		return scrubber.Report{}, err
	}
	if s.scrubber == nil {
		return scrubber.Report{}, notHere("admin.Verify")
	}
	if err := s.auth.Record(ctx, auth.Event{By: c, Action: "Verify"}); err != nil {
		return scrubber.Report{}, err
	}
	ctx, cancel := s.untilStop(ctx)
	defer cancel()
	return s.scrubber.Pass(ctx, progress)
}

// untilStop is ctx, and ends also when the server stops: long work does not
// hold that up.
func (s *Service) untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if s.stopping == nil {
		return ctx, cancel
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ended:
		}
	}()
	return ctx, func() { close(ended); cancel() }
}

// notHere is for parts that this server was put together without.
func notHere(op string) error {
	return fault.New(op, fault.Unavailable, "", nil).WithHint("This is not available here.")
}
