import TestSupport
import Testing

@testable import plugboard

@Suite("up leaves a plugin that is switched off alone", .someAtATime)
struct UpOffTests {
    private let shop: Shop

    init() throws {
        shop = try Shop()
        try shop.add("tunnel", "echo x >> runs; exec sleep 100", json: #","start":"never""#)
    }

    private func state() throws -> String {
        let listed = try plugboard("plugins", in: shop.folder).lines.first { $0.hasPrefix("tunnel ") } ?? ""
        return listed.split(separator: " ").dropFirst().first.map(String.init) ?? ""
    }

    @Test("says how to switch it on, and starts it when somebody asks")
    func byHand() throws {
        let up = try shop.up()
        let words = "tunnel | is switched off: plugboard plugins start tunnel"
        try eventually("it is told") { up.messages.contains(words) || up.output.contains(words) }
        #expect(try state() == "stopped")
        #expect(shop.text("tunnel", "runs") == "")
        let started = try plugboard("plugin", "start", "tunnel", in: shop.folder)
        #expect(started.output.hasPrefix("tunnel is running"))
        try eventually("it has begun") { shop.text("tunnel", "runs") == "x\n" }
        #expect(
            try plugboard("get", "$broker.plugins.tunnel", in: shop.folder).output.contains(
                #""start":"never""#
            )
        )
    }

    @Test("until its plugin.json says otherwise")
    func reload() throws {
        let up = try shop.up()
        #expect(try state() == "stopped")
        try shop.add("tunnel", "echo x >> runs; exec sleep 100")
        _ = try plugboard("plugins", "reload", in: shop.folder)
        try eventually("it has begun") { shop.text("tunnel", "runs") == "x\n" }
        #expect(try state() == "running")
        _ = up
    }
}
