import Foundation
import PlugboardClient
import PlugboardPosix
import TestSupport
import Testing

@testable import BridgePlugin

/// Certificates that openssl makes for a test: of an authority, of a node on loopback, and of a client.
struct TestCertificates {
    static let program = "/usr/bin/openssl"
    static let isPossible = FileManager.default.isExecutableFile(atPath: program)

    let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        let extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n"
        try folder.write("extensions", extensions)
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        for name in ["ca", "other"] {
            try await run(
                ["req", "-x509", "-days", "2", "-subj", "/CN=\(name)"] + key
                    + ["-keyout", folder("\(name).key"), "-out", folder("\(name).pem")]
            )
        }
        for name in ["node", "client"] {
            try await run(
                ["req", "-subj", "/CN=\(name)"] + key
                    + ["-keyout", folder("\(name).key"), "-out", folder("\(name).csr")]
            )
            try await run([
                "x509", "-req", "-days", "2", "-in", folder("\(name).csr"), "-CA", folder("ca.pem"), "-CAkey",
                folder("ca.key"), "-CAcreateserial", "-extfile", folder("extensions"), "-out",
                folder("\(name).pem"),
            ])
        }
        try folder.write("both.pem", folder.text("client.pem") + folder.text("client.key"))
    }

    private func run(_ arguments: [String]) async throws {
        let program = try TestProgram(Self.program, arguments)
        try await eventually("openssl ends") { !program.isRunning }
        guard program.status == 0 else { throw NeverHappened(description: program.output) }
    }
}

@Suite(
    "The way to etcd: certificates and proxies",
    .someAtATime,
    .enabled(if: EtcdCluster.isInstalled, "etcd isn't installed: apt install etcd-server")
)
struct SecureEtcdTests {
    private static let prefix = "/plugboard/test/"

    private func host(
        _ name: String, _ nodes: [String], _ arguments: [String] = [], environment: [String: String] = [:]
    ) async throws -> BridgedHost {
        try await BridgedHost(
            name, etcd: nodes, prefix: Self.prefix, ["--share", "s.**"] + arguments, environment: environment
        )
    }

    @Test(
        "with certificates of one's own, both sides prove who they are; without them, it is told",
        .enabled(if: TestCertificates.isPossible, "openssl isn't installed: apt install openssl")
    )
    func certificates() async throws {
        let files = try await TestCertificates().folder
        let etcd = try EtcdCluster(
            1,
            [
                "--cert-file", files("node.pem"), "--key-file", files("node.key"), "--client-cert-auth",
                "--trusted-ca-file", files("ca.pem"),
            ],
            scheme: "https"
        )
        let own = ["--cacert", files("ca.pem"), "--cert", files("client.pem"), "--key", files("client.key")]
        let together = ["--cacert", files("ca.pem"), "--cert", files("both.pem")]
        let (a, b) = (try await host("a", etcd.clients, own), try await host("b", etcd.clients, together))
        try await a.bus.publish("s.x", 1)
        try await eventually("it is there") { try await b.values() == ["s.x": "1"] }
        let wrong: [([String], String)] = [
            (["--cacert", files("ca.pem")], "does the node ask for a certificate, by --cert?"),
            (["--cert", files("both.pem")], "the certificate isn't one that this system trusts"),
            (["--cacert", files("other.pem")], "the certificate isn't one that --cacert names"),
            (["--cacert", files("ca.key")], "--cacert has no certificates"),
            (
                ["--cacert", files("ca.pem"), "--cert", files("client.pem"), "--key", files("node.key")],
                "--cert and --key aren't a certificate and its key"
            ),
        ]
        for (index, (arguments, words)) in wrong.enumerated() {
            let c = try await host("c\(index)", etcd.clients, arguments)
            var why: String?
            do {
                try await eventually("it is told") {
                    why = try await c.status()?["why"]?.string
                    return why?.contains(words) == true
                }
            } catch {
                throw NeverHappened(description: "\(arguments): \(why ?? "nothing") instead of \(words)")
            }
        }
    }

    @Test("what the environment says of proxies doesn't count")
    func environment() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        let silent = try SilentServer()
        let address = silent.address.replacingOccurrences(of: "//", with: "//user:secret@")
        for name in ["http_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "https_proxy"] {
            let a = try await host("a-\(name)", etcd.clients, environment: [name: address])
            try await eventually("it is up with \(name)") { try await a.isUp() }
        }
        #expect(try !silent.wasCalled())
    }

    @Test("only --proxy sends requests to a proxy, whatever no_proxy says")
    func proxy() async throws {
        let etcd = try EtcdCluster()
        try await etcd.ready()
        // etcd takes requests as a proxy gets them, so it can play one for a node that has no address.
        let nodes = ["http://etcd.invalid:2379"]
        let arguments = ["--proxy", etcd.clients[0]]
        let a = try await host("a", nodes, arguments, environment: ["no_proxy": "*", "NO_PROXY": "*"])
        try await a.bus.publish("s.x", 1)
        let store = etcd.store(Self.prefix)
        try await eventually("it is sent") { try await store.change(of: "s.x")?.value?.text == "1" }
        let gone = try await host("b", nodes, ["--proxy", "http://127.0.0.1:1"])
        try await eventually("it is told") {
            try await gone.status()?["why"]?.string?.contains("nobody answers there, or at the proxy") == true
        }
    }
}
