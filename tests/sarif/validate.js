// Validates SARIF files against the published JSON schema: node validate.js NODE_MODULES FILE…
const {readFileSync} = require('fs');
const path = require('path');
const [modules, ...files] = process.argv.slice(2);
const load = name => require(path.join(modules, name));
const Ajv = load('ajv-draft-04');  // the schema is draft 4
const addFormats = load('ajv-formats');
const schemaFile = path.join(modules, '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json');
const schema = JSON.parse(readFileSync(schemaFile, 'utf8'));
delete schema.$id;  // draft 4 calls it id
// The schema's patterns are not valid with the u flag.
const ajv = new Ajv({strict: false, unicodeRegExp: false, allErrors: true});
addFormats(ajv);
const validate = ajv.compile(schema);
let failed = false;
for (const file of files) {
  if (validate(JSON.parse(readFileSync(file, 'utf8')))) continue;
  failed = true;
  for (const error of validate.errors) console.log(`${file}: ${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`);
}
process.exit(failed ? 1 : 0);
