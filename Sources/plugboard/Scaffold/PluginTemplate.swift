// The files of a new plugin: what it needs to run, and nothing to delete. In each language it is the same
// plugin, which greets everyone who appears at `people.*`.

import PlugboardPosix
import PlugboardWire

/// The languages of new plugins.
enum PluginLanguage: String, CaseIterable {
    case sh, python, swift
}

/// One file of a new plugin.
struct TemplateFile: Equatable {
    /// Below the plugin's folder.
    let path: String
    let text: String
    var isRunnable = false
}

/// The files of one new plugin.
struct PluginTemplate {
    let name: String
    let language: PluginLanguage
    /// Where the libraries are, for Swift: a folder or an address.
    var package = ""

    var files: [TemplateFile] {
        switch language {
        case .sh: [manifest(run: name), TemplateFile(path: name, text: shell, isRunnable: true)]
        case .python: [manifest(run: name), TemplateFile(path: name, text: python, isRunnable: true)]
        case .swift:
            [
                manifest(run: "run"), TemplateFile(path: "run", text: starter, isRunnable: true),
                TemplateFile(path: "Package.swift", text: packageManifest),
                TemplateFile(path: "Sources/\(name)/main.swift", text: main),
                TemplateFile(path: "Sources/\(name)/Greeting.swift", text: greeting),
                TemplateFile(path: "Tests/\(name)Tests/GreetingTests.swift", text: test),
                TemplateFile(path: ".gitignore", text: ".build/\n"),
            ]
        }
    }

    private func manifest(run: String) -> TemplateFile {
        TemplateFile(
            path: PluginManifest.fileName,
            text: """
                {
                  "name": "\(name)",
                  "run": "\(run)",
                  "subscribes": ["people.*"],
                  "publishes": ["greetings.*"],
                  "description": "says hello to everyone who appears"
                }

                """
        )
    }

    private var shell: String {
        #"""
        #!/bin/sh
        # Says hello to everyone who appears at people.*. The variables are from plugboard up.
        "$PLUGBOARD_PROGRAM" subscribe 'people.*' | while read -r line; do
            case $line in '{"event":"update",'*) ;; *) continue ;; esac
            name=${line#*'"key":"people.'}
            name=${name%%'"'*}
            revision=${line#*'"revision":'}
            echo "hello, $name"
            "$PLUGBOARD_PROGRAM" publish "greetings.$name" '"hello"' --cause "${revision%%[!0-9]*}" >/dev/null
        done

        """#
    }

    private var python: String {
        #"""
        #!/usr/bin/env python3
        """Says hello to everyone who appears at people.*. plugboard.py is the library."""
        import plugboard


        async def main(bus: plugboard.Bus) -> None:
            async for person in bus.subscribe("people.*").updates():
                name = person.key.removeprefix("people.")
                print(f"hello, {name}", flush=True)
                await bus.publish(f"greetings.{name}", "hello")


        plugboard.run("\#(name)", main)

        """#
    }

    /// `plugin.json` needs a program that is there before the first build.
    private var starter: String {
        """
        #!/bin/sh
        # Builds the plugin if its sources have changed, and becomes it.
        swift build -c release --product \(name) >&2 && exec .build/release/\(name) "$@"

        """
    }

    private var packageManifest: String {
        let isAddress = package.contains("://") || package.hasPrefix("git@")
        let place = String(decoding: JSONText.encoded(package), as: UTF8.self)
        let source = isAddress ? "url: \(place), branch: \"main\"" : "name: \"plugboard\", path: \(place)"
        // A package is known by the end of its address.
        let end = package.split { $0 == "/" || $0 == ":" }.last.map(String.init) ?? package
        let known = isAddress ? end.hasSuffix(".git") ? String(end.dropLast(4)) : end : "plugboard"
        return """
            // swift-tools-version: 6.2
            import PackageDescription

            let package = Package(
                name: "\(name)",
                platforms: [.macOS(.v15)],
                dependencies: [.package(\(source))],
                targets: [
                    .executableTarget(
                        name: "\(name)",
                        dependencies: [.product(name: "PlugboardClient", package: "\(known)")]
                    ),
                    .testTarget(name: "\(name)Tests", dependencies: ["\(name)"]),
                ]
            )

            """
    }

    private var main: String {
        """
        // Says hello to everyone who appears at people.*.

        import PlugboardClient

        await Plugin.run(name: "\(name)") { bus in
            for try await person in try await bus.subscribe("people.*").updates(as: JSON.self) {
                let greeting = Greeting(to: person.key)
                Console.say("hello, \\(greeting.name)")
                try await bus.publish(greeting.key, "hello", cause: person.revision)
            }
        }

        """
    }

    private var greeting: String {
        """
        /// Whom to greet, and where.
        struct Greeting {
            let name: String

            /// `key` is that of the person, such as `people.ada`.
            init(to key: String) {
                name = key.split(separator: ".").dropFirst().joined(separator: ".")
            }

            var key: String { "greetings.\\(name)" }
        }

        """
    }

    private var test: String {
        """
        import Testing

        @testable import \(module)

        @Test("a person is greeted under the same name")
        func greets() {
            #expect(Greeting(to: "people.ada").key == "greetings.ada")
        }

        """
    }

    /// The name of the plugin's module, as the package manager makes it of the target's name.
    private var module: String {
        String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}

extension TemplateFile {
    /// Writes it, and makes its folders.
    func write(in folder: String) throws {
        let whole = "\(folder)/\(path)"
        try Folder.make(SocketPath.folder(of: whole), mode: 0o755)
        try OutputFile.write(text, to: whole)
        guard isRunnable else { return }
        let file = try DataFile.appending(to: whole)
        let result = withExtendedLifetime(file) { fchmod(file.raw, 0o755) }
        guard result == 0 else { throw SystemError(code: errno, operation: "chmod", subject: whole) }
    }
}
