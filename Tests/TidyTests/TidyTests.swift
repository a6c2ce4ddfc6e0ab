// Checks the rules of the house in every Swift file of the package.

import Testing

@Suite("the house is tidy")
struct TidyTests {
    private static func everything() throws -> [SourceFile] {
        try SourceTree.files(in: "Sources", "plugins", "Tests")
    }

    private static func programs() throws -> [SourceFile] {
        try SourceTree.files(in: "Sources", "plugins")
    }

    private static func expectNone(_ violations: [String]) {
        for violation in violations { Issue.record("\(violation)") }
    }

    @Test("no file is longer than 1,200 lines")
    func fileLengths() throws {
        let files = try Self.everything()
        #expect(files.count > 100)
        Self.expectNone(files.flatMap(Rules.length))
    }

    @Test("no function is longer than 70 lines")
    func functionLengths() throws {
        Self.expectNone(try Self.everything().flatMap(Rules.functions))
    }

    @Test("the broker's functions don't get wider", arguments: Layers.wideFunctionsMax.keys.sorted())
    func parameters(folder: String) throws {
        let found = try SourceTree.files(in: folder).map(Rules.wideFunctions)
        let most = try #require(Layers.wideFunctionsMax[folder])
        let (wide, changing) = (found.flatMap(\.wide), found.flatMap(\.changing))
        #expect(wide.count <= most.wide, "\(wide)")
        #expect(changing.count <= most.changing, "\(changing)")
    }

    @Test("nothing in the programs is forced or meant to crash")
    func traps() throws {
        Self.expectNone(try Self.programs().flatMap(Rules.traps))
    }

    /// It makes a program that is linked statically 44 MB larger.
    @Test("all of Foundation is used only where it has no parts")
    func foundation() throws {
        let users = try Self.programs().filter { file in
            file.lines.contains { Rules.importedModule($0) == "Foundation" }
        }
        #expect(
            users.map(\.path).sorted() == [
                "Sources/PlugboardClient/JSON/JSON+Codable.swift", "plugins/bridge/Essentials.swift",
            ]
        )
    }

    @Test("every file says at its top what it is for")
    func headers() throws {
        Self.expectNone(try Self.programs().flatMap(Rules.header))
    }

    @Test("each type has a name of its own")
    func names() throws {
        Self.expectNone(
            Names.repeated(in: try SourceTree.files(in: "Sources", "plugins", "Tests/TestSupport"))
        )
    }

    @Test("imports run one way", arguments: Layers.all)
    func imports(_ layer: Layers.Layer) throws {
        Self.expectNone(
            try SourceTree.files(in: layer.folder).flatMap { Rules.imports($0, allowed: layer.allowed) }
        )
    }

    @Test("of the command, only one file knows the plugins that it holds")
    func heldPlugins() throws {
        let users = try SourceTree.files(in: "Sources/plugboard").filter { file in
            file.lines.contains { Rules.importedModule($0).map(Layers.plugins.contains) ?? false }
        }
        #expect(users.map(\.path) == ["Sources/plugboard/HeldPlugins.swift"])
    }

    @Test("only files that say why they may use unsafe memory")
    func unsafeMemory() throws {
        let files = try SourceTree.files(in: "Sources", "plugins").filter(Rules.isUnsafe)
        for (folder, most) in Layers.unsafeFilesMax {
            let count = files.count { $0.path.hasPrefix(folder + "/") }
            #expect(count <= most, "\(folder)")
        }
        let others = files.filter { file in
            !Layers.unsafeFilesMax.keys.contains { file.path.hasPrefix($0 + "/") }
        }
        #expect(Set(others.map(\.path)) == Layers.unsafeFiles)
        Self.expectNone(files.flatMap(Rules.argument))
    }

    @Test("only listed tests use unsafe memory, and say why they may")
    func unsafeTests() throws {
        let files = try SourceTree.files(in: "Tests").filter(Rules.isUnsafe)
            .filter { !$0.path.hasPrefix("Tests/TidyTests/") }
        #expect(Set(files.map(\.path)) == Layers.unsafeTests)
        Self.expectNone(files.flatMap(Rules.argument))
    }

    @Test("no element of a slab, which moves them as bytes, has a weak reference")
    func weakReferences() throws {
        let files = try SourceTree.files(in: "Sources/PlugboardBroker", "Sources/PlugboardMemory")
        let weak = files.filter { file in
            file.code.contains { $0.contains("weak") && $0.contains(/\bweak\s+(var|let)\b/) }
        }
        #expect(weak.map(\.path) == [])
    }

    @Test("each folder of sources is a layer")
    func layers() throws {
        let folders = try SourceTree.names(in: "Sources").map { "Sources/\($0)" }
        #expect(Set(folders).isSubset(of: Layers.all.map(\.folder)))
    }

    @Test("the package depends on no other")
    func dependencies() throws {
        let manifest = SourceFile(path: "Package.swift", text: try SourceTree.text(of: "Package.swift"))
        #expect(manifest.code.contains("    dependencies: [],"))
        #expect(!manifest.code.contains { $0.contains(".package(") })
    }
}
