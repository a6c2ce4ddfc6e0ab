// Made by .ci/page from plugins/dashboard/page/layout.js: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let layoutJS: StaticString = ##"""
// stub
"""##
}
