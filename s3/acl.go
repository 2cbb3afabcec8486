package s3

import (
	"net/http"
	"strings"
)

// Larder has no ACLs: access is given by the grants of keys. Clients set and
// read ACLs all the same, so it answers what an account with ACLs turned off
// answers: everything belongs to its owner.

// checkACL reads the ACL headers of a request that makes something. The canned
// ACLs are taken and change nothing, public ones too, since media servers send
// them with every upload; what is private stays so.
func (c *call) checkACL() error {
	if !cannedACL(c.header("X-Amz-Acl")) {
		return refuse(invalidArgument, "The x-amz-acl value is not one of S3's canned ACLs.")
	}
	return c.checkGrants()
}

func (c *call) checkGrants() error {
	for _, name := range c.amzNames() {
		if strings.HasPrefix(name, "x-amz-grant-") {
			return refuse(aclNotSupported, "")
		}
	}
	return nil
}

func cannedACL(acl string) bool {
	switch acl {
	case "", "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
		"bucket-owner-read", "bucket-owner-full-control", "log-delivery-write":
		return true
	}
	return false
}

func (c *call) bucketACL() error {
	if _, err := c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	return c.ownerACL()
}

func (c *call) objectACL() error {
	if _, err := c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key); err != nil {
		return err
	}
	return c.ownerACL()
}

// ownerACL answers the owner with FULL_CONTROL.
func (c *call) ownerACL() error {
	doc := newDocument()
	doc.root("AccessControlPolicy")
	doc.owner("Owner")
	doc.open("AccessControlList")
	doc.open("Grant")
	doc.b = append(doc.b, `<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser">`...)
	doc.text("ID", ownerID)
	doc.text("DisplayName", ownerName)
	doc.close("Grantee")
	doc.text("Permission", "FULL_CONTROL")
	doc.close("Grant")
	doc.close("AccessControlList")
	doc.close("AccessControlPolicy")
	return c.xml(doc)
}

func (c *call) putBucketACL() error {
	if err := c.allowed(c.route); err != nil {
		return err
	}
	if _, err := c.s.gate.HeadBucket(c.ctx, c.caller, c.target.bucket); err != nil {
		return err
	}
	return c.putACL()
}

func (c *call) putObjectACL() error {
	if err := c.allowed(c.route); err != nil {
		return err
	}
	if _, err := c.s.gate.Head(c.ctx, c.caller, c.target.bucket, c.target.key); err != nil {
		return err
	}
	return c.putACL()
}

// putACL accepts an ACL that gives nobody but the owner anything.
func (c *call) putACL() error {
	if err := c.checkGrants(); err != nil {
		return err
	}
	acl := c.header("X-Amz-Acl")
	body, err := c.smallBody(maxDocument)
	if err != nil {
		return err
	}
	switch acl {
	case "private", "bucket-owner-full-control", "bucket-owner-read":
	case "":
		err = checkPolicyDocument(body)
	default:
		err = refuse(aclNotSupported, "")
	}
	if err != nil {
		return err
	}
	return c.empty(http.StatusOK)
}

// checkPolicyDocument accepts the document that GET answers.
func checkPolicyDocument(body []byte) error {
	root, err := parseXML(body, "AccessControlPolicy")
	if err != nil {
		return err
	}
	for _, list := range root.children {
		if list.name != "AccessControlList" {
			continue
		}
		for _, grant := range list.children {
			if !ownersGrant(grant) {
				return refuse(aclNotSupported, "")
			}
		}
	}
	return nil
}

// ownersGrant tells whether a grant names the owner.
func ownersGrant(grant element) bool {
	for _, part := range grant.children {
		if part.name != "Grantee" {
			continue
		}
		for _, id := range part.children {
			if id.name == "ID" && id.text == ownerID {
				return true
			}
		}
	}
	return false
}
