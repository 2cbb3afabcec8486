package web

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"larder/fault"
)

// edge builds the router. This file is the only one that knows echo.
func (c *Console) edge() http.Handler {
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = func(err error, ctx echo.Context) {
		x := c.exchange(ctx.Response(), ctx.Request())
		_ = c.recognise(x) // a known person gets the error within their console
		c.fail(x, echoFault(err))
	}
	cross := http.NewCrossOriginProtection()
	cross.SetDenyHandler(http.HandlerFunc(c.denyCrossOrigin))
	e.Use(c.observe,
		echo.WrapMiddleware(c.headers), echo.WrapMiddleware(c.hosts),
		echo.WrapMiddleware(c.limit), echo.WrapMiddleware(cross.Handler))
	for _, r := range c.routes() {
		e.Add(r.method, r.path, c.adapt(r))
		if r.method == http.MethodGet {
			e.Add(http.MethodHead, r.path, c.adapt(r))
		}
	}
	e.Any("/api/v1/*", echo.WrapHandler(c.api()))
	return e
}

// adapt turns a route into echo's kind of handler. Errors end here: they are
// answered and logged, once.
func (c *Console) adapt(r route) echo.HandlerFunc {
	return func(ctx echo.Context) error {
		x := c.exchange(ctx.Response(), ctx.Request())
		x.raw = r.raw
		admitted, err := c.admit(x, r)
		if err == nil && admitted {
			err = r.handle(x)
		}
		if err == nil {
			return nil
		}
		if ctx.Response().Committed {
			c.cfg.Log.Error("answer broken off", "request", x.id, "path", x.r.URL.Path, "err", err)
			panic(http.ErrAbortHandler)
		}
		c.fail(x, err)
		return nil
	}
}

// observe gives every request its id, writes one line about it, and turns a
// panic into an answer with that id.
func (c *Console) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(ctx echo.Context) (err error) {
		began, id := time.Now(), newRequestID()
		ctx.Response().Header().Set("X-Request-Id", id)
		defer func() {
			c.recovered(ctx, recover())
			c.logRequest(ctx, id, time.Since(began))
		}()
		if err = next(ctx); err != nil {
			ctx.Error(err)
		}
		return nil
	}
}

func (c *Console) recovered(ctx echo.Context, cause any) {
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler || ctx.Response().Committed {
		panic(http.ErrAbortHandler)
	}
	err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
	c.fail(c.exchange(ctx.Response(), ctx.Request()), fault.New("web", fault.Internal, "", err))
}

func (c *Console) logRequest(ctx echo.Context, id string, took time.Duration) {
	c.cfg.Log.Debug("console request", "request", id, "method", ctx.Request().Method,
		"path", ctx.Request().URL.Path, "status", ctx.Response().Status, "ms", took.Milliseconds())
}

// echoFault gives echo's own errors a code of ours.
func echoFault(err error) error {
	he, ok := err.(*echo.HTTPError)
	if !ok {
		return err
	}
	switch he.Code {
	case http.StatusNotFound:
		return &pageMissing{status: http.StatusNotFound}
	case http.StatusMethodNotAllowed:
		return &pageMissing{status: http.StatusMethodNotAllowed}
	}
	return fault.New("web", fault.Internal, "", err)
}
