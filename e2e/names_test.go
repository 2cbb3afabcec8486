package e2e_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"
)

// nameServer stands in for the name service of a house, in which "nas" leads
// to the appliance: an HTTP proxy that takes every name for the loopback.
// Programs are pointed to it with HTTP_PROXY, so that they can be given the
// settings that the console shows, word for word.
func nameServer(t *testing.T) (proxyURL string) {
	t.Helper()
	transport := &http.Transport{
		DisableCompression: true, MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			var d net.Dialer
			return d.DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port))
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	srv := httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(*httputil.ProxyRequest) {}})
	t.Cleanup(srv.Close)
	return srv.URL
}
