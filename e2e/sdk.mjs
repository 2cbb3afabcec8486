// Drives the AWS SDK v3 for JavaScript with its own defaults: it adds a CRC32
// to every upload and validates the checksum of every download.
// Usage: node sdk.mjs ENDPOINT, with the credentials in the environment.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import {
  S3Client, CreateBucketCommand, DeleteBucketCommand, PutObjectCommand, GetObjectCommand, HeadObjectCommand,
  CopyObjectCommand, DeleteObjectsCommand, DeleteObjectCommand, paginateListObjectsV2,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";

const endpoint = process.argv[2];
const s3 = new S3Client({ endpoint, forcePathStyle: true, maxAttempts: 1 });
const Bucket = "javascript";

async function get(Key, extra = {}) {
  const answer = await s3.send(new GetObjectCommand({ Bucket, Key, ...extra }));
  return { ...answer, bytes: Buffer.from(await answer.Body.transformToByteArray()) };
}

function same(got, want, what) {
  assert.equal(got.length, want.length, what);
  assert.ok(got.equals(want), what);
}

await s3.send(new CreateBucketCommand({ Bucket }));

// Single puts: by default with CRC32, then with each algorithm by name.
const small = randomBytes(200_001);
for (const ChecksumAlgorithm of [undefined, "CRC32", "CRC32C", "SHA1", "SHA256", "CRC64NVME"]) {
  const Key = `single/${ChecksumAlgorithm ?? "default"}`;
  try {
    await s3.send(new PutObjectCommand({ Bucket, Key, Body: small, ChecksumAlgorithm, ContentType: "application/x-test", Metadata: { purpose: "e2e" } }));
  } catch (e) {
    if (ChecksumAlgorithm !== "CRC64NVME" || e.$metadata?.httpStatusCode) throw e;
    console.log("the SDK has no CRC64NVME of its own here:", e.message);
    continue;
  }
  const back = await get(Key, { ChecksumMode: "ENABLED" });
  same(back.bytes, small, Key);
  assert.equal(back.ContentType, "application/x-test");
  assert.equal(back.Metadata.purpose, "e2e");
  const field = "Checksum" + (ChecksumAlgorithm ?? "CRC32");
  assert.ok(back[field], `${Key} came without ${field}`);
}

// A stream of unknown length in parts, as lib-storage sends it.
const large = randomBytes(17 * 1024 * 1024 + 5);
const chunks = [];
for (let i = 0; i < large.length; i += 1 << 20) chunks.push(large.subarray(i, i + (1 << 20)));
const upload = new Upload({ client: s3, params: { Bucket, Key: "parts", Body: Readable.from(chunks) }, partSize: 5 * 1024 * 1024 });
const done = await upload.done();
assert.match(done.ETag, /-4"$/);
const whole = await get("parts");
same(whole.bytes, large, "parts");
const head = await s3.send(new HeadObjectCommand({ Bucket, Key: "parts", ChecksumMode: "ENABLED" }));
assert.equal(head.ContentLength, large.length);
assert.ok(head.ChecksumCRC32, "the multipart object has no CRC32");
same((await get("parts", { Range: "bytes=5242870-5242890" })).bytes, large.subarray(5242870, 5242891), "range over a part's border");
same((await get("parts", { PartNumber: 2 })).bytes, large.subarray(5 << 20, 10 << 20), "part 2");

// A stream of known length goes as a trailer, or signed in chunks.
const stream = Readable.from([small.subarray(0, 100_000), small.subarray(100_000)]);
await s3.send(new PutObjectCommand({ Bucket, Key: "stream", Body: stream, ContentLength: small.length }));
same((await get("stream")).bytes, small, "stream");

// A wrong checksum is refused and leaves nothing.
const wrong = createHash("sha256").update("something else").digest("base64");
await assert.rejects(s3.send(new PutObjectCommand({ Bucket, Key: "wrong", Body: small, ChecksumSHA256: wrong })), (e) => e.name === "BadDigest" || e.name === "XAmzContentChecksumMismatch");
await assert.rejects(s3.send(new HeadObjectCommand({ Bucket, Key: "wrong" })), (e) => e.$metadata.httpStatusCode === 404);

// Conditions, copies, listings, deletions.
await assert.rejects(s3.send(new PutObjectCommand({ Bucket, Key: "parts", Body: "x", IfNoneMatch: "*" })), { name: "PreconditionFailed" });
await s3.send(new CopyObjectCommand({ Bucket, Key: "copy ü+%", CopySource: `${Bucket}/parts` }));
same((await get("copy ü+%")).bytes, large, "copy");
await assert.rejects(s3.send(new GetObjectCommand({ Bucket, Key: "nothing" })), { name: "NoSuchKey" });
await Promise.all(Array.from({ length: 30 }, (_, i) => s3.send(new PutObjectCommand({ Bucket, Key: `many/${i}`, Body: String(i) }))));
const keys = [];
for await (const page of paginateListObjectsV2({ client: s3, pageSize: 7 }, { Bucket })) keys.push(...page.Contents.map((o) => o.Key));
assert.ok(keys.includes("copy ü+%") && keys.filter((k) => k.startsWith("many/")).length === 30, keys.join());
const gone = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects: keys.slice(1).map((Key) => ({ Key })) } }));
assert.equal(gone.Deleted.length, keys.length - 1);
await s3.send(new DeleteObjectCommand({ Bucket, Key: keys[0] }));
await s3.send(new DeleteBucketCommand({ Bucket }));
console.log(`${endpoint}: single puts, parts, streams, ranges, conditions, copies, listings and deletions agree`);
