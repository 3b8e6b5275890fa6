// The count lives in this module alone: only a page that is not loaded anew keeps it.
import './style.css';
import { greeting } from './greeting.js';

const show = (text) => {
  document.querySelector('#greeting').textContent = text;
};
const button = document.querySelector('#count');
let count = 0;
const label = () => {
  button.textContent = `Clicked ${count} times`;
};
button.addEventListener('click', () => {
  count += 1;
  label();
});
label();
show(greeting);
document.querySelector('#place').textContent = location.host;

import.meta.hot?.accept('./greeting.js', (next) => show(next.greeting));
