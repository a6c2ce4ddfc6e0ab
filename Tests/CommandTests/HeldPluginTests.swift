import Foundation
import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("one program for the packages", .someAtATime)
final class HeldPluginTests: FolderSuite {
    private static let plugins = SwiftProgram.package + "/plugins"

    /// The names of the checkout's plugins.
    private static func names() throws -> [String] {
        try Folder.names(in: plugins).filter { name in
            FileStatus(path: PluginFolder.file(in: "\(plugins)/\(name)")).kind == .file
        }
    }

    /// A folder of plugins as the packages have it: each program is a link to `plugboard`.
    private func link(_ names: [String]) throws {
        for name in names {
            let place = "plugins/\(name)"
            let manifest = "\(Self.plugins)/\(name)/\(PluginManifest.fileName)"
            try folder.write(
                "\(place)/\(PluginManifest.fileName)", try String(contentsOfFile: manifest, encoding: .utf8)
            )
            SystemCalls.makeLink(folder("\(place)/\(name)"), to: Products.plugboard)
        }
    }

    @Test("plugboard holds exactly the plugins of this checkout")
    func all() throws {
        #expect(try Self.names().sorted() == HeldPlugins.all.keys.sorted())
    }

    @Test("called by a plugin's name, it is that plugin; by any other name, it is the command")
    func called() throws {
        try link(try Self.names())
        for name in try Self.names() {
            let held = try Run(program: folder("plugins/\(name)/\(name)"), ["--help"], in: folder).finished()
            let own = try Run(program: "\(Products.folder)/\(name)", ["--help"], in: folder).finished()
            #expect(held.end == .exited(0) && held.output == own.output && !held.output.isEmpty, "\(name)")
        }
        SystemCalls.makeLink(folder("carts"), to: Products.plugboard)
        let command = try Run(program: folder("carts"), ["--version"], in: folder).finished()
        #expect(command.end == .exited(0) && command.output == Program.version + "\n")
    }

    @Test("install keeps the links, so that the program is there only once")
    func installed() throws {
        try link(["cart"])
        let installed = try Run(
            ["install", "--plugins", "plugins"], in: folder, environment: ["HOME": folder.path]
        )
        #expect(try installed.finished().end == .exited(0))
        let program = folder(".local/lib/plugboard/plugins/cart/cart")
        #expect(FileCopy.target(ofLink: program) == "../../plugboard")
        #expect(
            try Run(program: program, ["--help"], in: folder).finished().output.contains(
                "keeps the shopping cart"
            )
        )
    }

    @Test("up starts the links, each as a process of its own, and they do their work")
    func up() throws {
        try link(["cart", "price-indicator", "logger"])
        let up = try Run(["up", "--plugins", "plugins"], in: folder)
        try eventually("up is up") { up.messages.contains("Plugins: cart, logger, price-indicator.") }
        _ = try run("publish", "catalog.a", #"{"title":"A","price":2.50}"#)
        try eventually("cart serves") {
            try run("call", "cart.add", #"{"sku":"a"}"#).output == #"{"sku":"a","quantity":1,"lines":1}"#
                + "\n"
        }
        try eventually("the price is there") {
            try run("get", "cart.summary").output == #"{"items":1,"total":2.50}"# + "\n"
        }
        let running = try run("plugins").lines.filter { $0.contains(" running ") }
        #expect(running.count == 3, "\(running)")
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
    }
}
